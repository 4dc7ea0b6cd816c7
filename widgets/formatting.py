"""How figures and states are written. Pure functions of frozen snapshots: no widget, no clock of their own."""

from __future__ import annotations

import time
from types import MappingProxyType
from typing import TYPE_CHECKING

from supervisor.core.model import State, TicketSnapshot, Why
from supervisor.core.ordering import under_way_s
from supervisor.core.text import Measure, clip
from widgets.cells import Cell, Piece, Tone, drawable

if TYPE_CHECKING:
    from collections.abc import Mapping

GLYPHS: Mapping[State, str] = MappingProxyType(
    {
        State.QUEUED: "○",
        State.STARTING: "◐",
        State.RUNNING: "●",
        State.NEEDS_YOU: "!",
        State.PARKED: "◌",
        State.PAUSED: "‖",
        State.DONE: "✓",
        State.FAILED: "✗",
        State.CANCELLED: "–",
    }
)
"""One cell each, and never an emoji."""

_TONES: Mapping[State, Tone] = MappingProxyType(
    {
        State.STARTING: Tone.ACCENT,
        State.RUNNING: Tone.ACCENT,
        State.NEEDS_YOU: Tone.WARM,
        State.FAILED: Tone.BAD,
        State.DONE: Tone.PLAIN,
    }
)

_WHY: Mapping[Why, str] = MappingProxyType(
    {
        Why.APPROVE_TOOL: "may it use this tool?",
        Why.APPROVE_EFFECT: "may it do this effect?",
        Why.UNRESOLVED_EFFECT: "effect unresolved",
        Why.QUESTION: "asks a question",
        Why.LIMIT: "limit reached",
        Why.VERIFY: "the check fails",
        Why.CONFLICT: "conflict",
        Why.AUTH: "key or login refused",
        Why.STALLED: "the agent is silent",
        Why.LEDGER: "ledger not written",
    }
)

BAR_FULL, BAR_EMPTY = "━", "─"


def state_tone(state: State) -> Tone:
    """Return how loud a state is: calm ones are muted, warm is kept for what needs the operator."""
    return _TONES.get(state, Tone.MUTED)


def state_words(state: State) -> str:
    """Return glyph and word, such as ``! needs you``."""
    return f"{GLYPHS[state]} {state.value.replace('_', ' ')}"


def money(usd: float, *, estimated: bool = False) -> str:
    """Return an amount in at most six cells, such as ``$0.21``, ``≈$0.21`` or ``$1234``."""
    mark = "≈" if estimated else ""
    if 0 < usd < 0.005:
        return f"{mark}<1¢"
    if usd < 99.995 and not (estimated and usd >= 9.995):
        return f"{mark}${usd:.2f}"
    return f"{mark}${usd:.1f}" if usd < 99.95 else f"{mark}${usd:.0f}"


def signed_money(usd: float) -> str:
    """Return what is left, or in the minus: ``$0.21``, ``−$0.02``; less than half a cent in the minus is nothing."""
    if usd >= 0:
        return money(usd)
    return f"−{money(-usd)}" if usd <= -0.005 else money(0.0)


def short_money(usd: float) -> str:
    """Return an amount without a currency sign in at most four cells: ``0.79``, ``-.02``, ``12.5``, ``340``."""
    size = abs(usd)
    text = f"{size:.2f}" if size < 9.995 else f"{size:.1f}" if size < 99.95 else f"{size:.0f}"
    if usd >= 0 or float(text) == 0:
        return text
    return f"-{text.removeprefix('0')}"[:4].rstrip(".")


def round_money(usd: float) -> str:
    """Return an amount that somebody chose, without cents where there are none: ``$20``, ``$0.50``."""
    return f"${usd:.0f}" if usd == round(usd) else money(usd)


def bar(share: float, cells: int) -> tuple[str, str]:
    """Return the filled and the empty part of a bar. Anything left shows at least one filled cell."""
    full = max(0, min(cells, round(share * cells)))
    if share > 0 and full == 0:
        full = 1
    return BAR_FULL * full, BAR_EMPTY * (cells - full)


def headroom(ticket: TicketSnapshot, *, bar_cells: int = 4) -> Cell:
    """Return what the ticket may still spend as a bar and a number; ``!`` before it when below the reserve."""
    left, budget = ticket.left_usd, ticket.budget_usd
    if left is None or budget is None:
        return (("no cap", Tone.FAINT),)
    low = is_low(ticket)
    full, empty = bar(left / budget if budget > 0 else 0.0, bar_cells)
    tone = Tone.WARM if low else Tone.FAINT if ticket.started is None else Tone.MUTED
    return (
        (full, Tone.ACCENT if ticket.holds_slot and not low else tone),
        (empty, Tone.FAINT),
        (f"{'!' if low else ' '}{short_money(left):>4}", tone),
    )


def is_low(ticket: TicketSnapshot) -> bool:
    """Return whether a ticket that could still go on has less headroom than its reserve."""
    left = ticket.left_usd
    if left is None or ticket.state in (State.DONE, State.CANCELLED):
        return False
    return left <= 0 or left < ticket.reserve_usd


def age(seconds: float) -> str:
    """Return a span in at most three cells, such as ``41s``, ``4m``, ``2h`` or ``3d``."""
    seconds = max(0.0, seconds)
    if seconds < 60:
        return f"{int(seconds)}s"
    if seconds < 3600:
        return f"{int(seconds // 60)}m"
    return f"{int(seconds // 3600)}h" if seconds < 100 * 3600 else f"{int(seconds // 86400)}d"


def countdown(seconds: float) -> str:
    """Return what is left until a moment, such as ``0:41`` or ``1:02:03``; never negative."""
    left = max(0, int(seconds + 0.999))
    hours, rest = divmod(left, 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"


def clock(at: float) -> str:
    """Return the local time of day, such as ``14:02``."""
    return time.strftime("%H:%M", time.localtime(at))


def ending(ticket: TicketSnapshot) -> str:
    """Return the terminal reason unless it is ``completed``, else the subtype: what one column can say of an ending.

    Empty for a ticket that is under way: what it was given last has not ended.
    """
    if ticket.holds_slot:
        return ""
    if ticket.terminal_reason and ticket.terminal_reason != "completed":
        return ticket.terminal_reason
    return ticket.subtype or ticket.terminal_reason or ""


def with_time_left(words: str, left: str, cells: int, measure: Measure) -> tuple[str, str]:
    """Return words and countdown for a column of so many cells: the words are cut, the countdown never is."""
    if not words:
        return "", left
    for link in (", again in ", " · "):
        if measure(words) + len(link) + len(left) <= cells:
            return f"{words}{link}", left
    return f"{clip(words, cells - len(left) - 1, measure)} ", left


def time_left(ticket: TicketSnapshot, now: float) -> str:
    """Return the countdown of a ticket that waits for a moment; empty for all others."""
    return "" if ticket.until is None else countdown(ticket.until - now)


def is_ticking(ticket: TicketSnapshot) -> bool:
    """Return whether what is written of the ticket changes as time passes. What rests shows fixed times instead."""
    return ticket.holds_slot or ticket.until is not None


def moving_words(ticket: TicketSnapshot, now: float, *, ages: bool) -> tuple[str, ...]:
    """Return everything written of a ticket that changes as time passes, with its ages or without."""
    if not is_ticking(ticket):
        return ()
    left = time_left(ticket, now)
    return (left, ran_for(ticket, now), last_seen(ticket, now)) if ages else (left,)


def ran_for(ticket: TicketSnapshot, now: float) -> str:
    """Return how long a ticket has been under way, or was."""
    seconds = under_way_s(ticket, now)
    return "" if seconds is None else age(seconds)


def last_seen(ticket: TicketSnapshot, now: float) -> str:
    """Return the age of the last sign of life while an agent is at work, and the time of day of it at rest."""
    if ticket.last_activity is None or ticket.started is None:
        return ""
    return age(now - ticket.last_activity) if ticket.holds_slot else clock(ticket.last_activity)


def reason(ticket: TicketSnapshot) -> str:
    """Return in a few words what the ticket does or waits for, without the countdown."""
    words = drawable(ticket.detail)
    if not words and ticket.why is not None:
        words = _WHY[ticket.why]
    if not words and ticket.state is State.QUEUED and ticket.after:
        words = f"after {drawable(ticket.after[0])}"
    if ticket.state is State.DONE and ticket.denials:
        words = f"{ticket.denials} denied, {words}".rstrip(", ")
    return words


def blocked_words(blocker: TicketSnapshot) -> str:
    """Return what keeps a ticket from starting, safe to draw: ``after 003-deploy, which failed``."""
    return f"after {drawable(blocker.id)}, which {'failed' if blocker.state is State.FAILED else 'was cancelled'}"


def need_words(needs: int, failed: int) -> str:
    """Return how much needs the operator, and how many of that are failed tickets: ``2 need you (1 failed)``."""
    return f"{needs} need{'s' if needs == 1 else ''} you{f' ({failed} failed)' if failed else ''}"


def why_now(ticket: TicketSnapshot, now: float) -> tuple[Piece, str]:
    """Return the words of the WHY / NOW column, and the countdown that must stay visible after them."""
    if ticket.pending:
        return (f"{drawable(ticket.pending)} …", Tone.ACCENT), ""
    tone = state_tone(ticket.state)
    if tone is Tone.ACCENT:
        tone = Tone.PLAIN
    return (reason(ticket), Tone.MUTED if ticket.state is State.DONE else tone), time_left(ticket, now)

"""The lines of an effect's card: what the agent said, what it asked for, what happened, and the log. Pure.

Labels stand on the left and everything else is wrapped beside them; each part has a most, so no payload is too big.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len

from supervisor.core.effects import EffectState
from supervisor.core.text import clip
from widgets import formatting as fmt
from widgets.cells import Cell, Piece, Tone, clip_pieces, drawable, drawable_lines, fit
from widgets.effect_words import effect_state, fields, log_words, owner_words, ran_until, stamp
from widgets.transcript_layout import wrap

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from supervisor.core.effects import EffectRecord, EffectView, LogRow
    from supervisor.core.model import TicketSnapshot

LABEL = 17
"""Cells of the column on the left."""
SAID_LINES = 6
FIELD_LINES = 60
ERROR_LINES = 12
LOG_ROWS = 60
"""Most lines of each part; of the log the newest."""
_NARROW = 48
"""Views narrower than this have a narrower column on the left."""
_SHORT = 26
"""Fields no wider than this share a line."""
_GAP = "   "

_CHECKED = {True: "set: 5 asks the other system", False: "not set"}


def card_rule(view: EffectView | None, ticket: TicketSnapshot | None, width: int, *, is_active: bool = False) -> Cell:
    """Return the line above a card, such as ``── effect deploy · 003-deploy · once · key 003-deploy:deploy ──``."""
    lead: Piece = ("━━ ", Tone.ACCENT) if is_active else ("── ", Tone.FAINT)
    if view is not None:
        record = view.record
        name, rest = f"effect {record.effect}", [record.ticket, record.kind, f"key {record.key}"]
    elif ticket is not None:
        name, rest = ticket.id, [ticket.title]
    else:
        return (("─" * width, Tone.FAINT),)
    words = "".join(f" · {drawable(word)}" for word in rest if word)
    left: Cell = (lead, (drawable(name), Tone.STRONG), (words, Tone.MUTED))
    taken = sum(cell_len(text) for text, _ in left)
    return clip_pieces((*left, (" " + "─" * max(0, width - taken - 1), Tone.FAINT)), width)


def effect_lines(view: EffectView, now: float, width: int, *, is_ours: bool = False) -> list[Cell]:
    """Return the card of an effect, none of its lines wider than ``width``."""
    record, room = view.record, _room(width)
    parts: list[tuple[str, list[Cell]]] = [
        ("the agent said", _said(record, room)),
        ("payload", _payload(record, room)),
        ("happened", _happened(view, now, room, is_ours)),
        ("outcome", _plain(record.outcome_text, room, ERROR_LINES) if record.outcome is not None else []),
        ("remote key", _remote(record, now, room)),
        ("attempts", _one(_attempts(record))),
        ("probe", _one("under way …" if view.busy else _CHECKED[view.has_probe])),
        ("log", _log(view.log, record, now, room)),
    ]
    return [line for label, lines in parts for line in _labelled(label, lines, width)]


def ticket_lines(ticket: TicketSnapshot, width: int) -> list[Cell]:
    """Return the card of a ticket that waits for something other than an effect."""
    spent = fmt.money(ticket.spent_usd, estimated=ticket.estimated_usd > 0)
    budget = "" if ticket.budget_usd is None else f" of {fmt.round_money(ticket.budget_usd)}"
    parts: list[tuple[str, list[Cell]]] = [
        ("state", [((fmt.state_words(ticket.state), fmt.state_tone(ticket.state)),)]),
        ("why", _plain(ticket.detail or fmt.reason(ticket), _room(width), ERROR_LINES)),
        ("last ending", _one(" · ".join(word for word in (ticket.subtype, ticket.terminal_reason) if word))),
        ("spent", _one(f"{spent}{budget}, {ticket.turns} turns, try {ticket.attempts}")),
        ("", [(("enter", Tone.ACCENT), (" goes to the ticket: resume or cancel it there", Tone.MUTED))]),
    ]
    return [line for label, lines in parts for line in _labelled(label, lines, width)]


def is_ticking(view: EffectView) -> bool:
    """Return whether an effect's card changes as time passes."""
    return view.record.state is EffectState.CLAIMED or view.record.kind == "keyed"


def _label_cells(width: int) -> int:
    return LABEL if width >= _NARROW else 11


def _room(width: int) -> int:
    return max(4, width - _label_cells(width))


def _labelled(label: str, lines: Iterable[Cell], width: int) -> Iterator[Cell]:
    cells = _label_cells(width)
    for line in lines:
        yield clip_pieces(((fit(label, cells), Tone.MUTED), *line), width)
        label = ""


def _one(text: str) -> list[Cell]:
    return [((drawable(text), Tone.PLAIN),)] if text else []


def _plain(text: str, room: int, most: int, tone: Tone = Tone.PLAIN) -> list[Cell]:
    """Return untrusted text wrapped, with a last line that says how much is left out."""
    lines = wrap(drawable_lines(text), room)
    if len(lines) > most:
        lines = [*lines[: most - 1], f"… {len(lines) - most + 1} more lines"]
    return [((line, tone),) for line in lines]


def _said(record: EffectRecord, room: int) -> list[Cell]:
    if not record.said.strip():
        return [(("nothing", Tone.FAINT),)]
    return _plain(f'"{record.said.strip()}"', room, SAID_LINES)


def _payload(record: EffectRecord, room: int) -> list[Cell]:
    if record.payload in (None, {}):
        return [(("empty", Tone.FAINT),)]
    shown, is_cut = fields(record.payload)
    named = [(drawable(name), drawable_lines(text)) for name, text in shown]
    short = min(room, max((cell_len(name) for name, _ in named), default=0), max(8, room // 3))
    lines = list(_flowed(named, short, room))
    return [*lines, (("… more fields", Tone.FAINT),)] if is_cut else lines


def _flowed(named: list[tuple[str, list[str]]], name_cells: int, room: int) -> Iterator[Cell]:
    """Put short fields side by side; the others get lines of their own, their text beside their name or below it."""
    row: list[Piece] = []
    for name, lines in named:
        words = lines[0]
        if len(lines) == 1 and cell_len(name) + cell_len(words) + 2 <= _SHORT:
            pieces: list[Piece] = [(f"{name}  ".lstrip(), Tone.MUTED), (f"{words}{_GAP}", Tone.PLAIN)]
            if row and sum(cell_len(text) for text, _ in (*row, *pieces)) > room + len(_GAP):
                yield tuple(row)
                row = []
            row += pieces
            continue
        if row:
            yield tuple(row)
            row = []
        yield from _field(name, lines, name_cells, room)
    if row:
        yield tuple(row)


def _field(name: str, lines: list[str], name_cells: int, room: int) -> Iterator[Cell]:
    indent = name_cells + 2 if name else 0
    wrapped = wrap(lines, room - indent)
    if len(wrapped) > FIELD_LINES:
        wrapped = [*wrapped[: FIELD_LINES - 1], f"… {len(wrapped) - FIELD_LINES + 1} more lines"]
    lead = f"{fit(name, name_cells)}  " if name else ""
    for line in wrapped:
        yield ((lead, Tone.MUTED), (line, Tone.PLAIN))
        lead = " " * indent


def _happened(view: EffectView, now: float, room: int, is_ours: bool) -> list[Cell]:
    record = view.record
    lines: list[Cell] = []
    if record.claimed_at is None:
        asked = f", asked for {stamp(record.requested_at, now)}" if record.requested_at else ""
        lines += _plain(f"nothing ran yet{asked}", room, 2)
    else:
        lines += _plain(f"claimed {stamp(record.claimed_at, now)} by {owner_words(view, is_ours)}", room, 3)
    ended = ran_until(view)
    if record.state is EffectState.CLAIMED and record.claimed_at is not None:
        limit = f" of at most {record.timeout_s:.0f} s" if record.timeout_s else ""
        ended = f"running for {fmt.countdown(now - record.claimed_at)}{limit}" if is_ours else "no outcome yet"
    if ended or record.error:
        words = f"{ended}: {record.error}" if ended and record.error else ended or record.error
        lines += _plain(words, room, ERROR_LINES)
    if ended.startswith(record.state.value.replace("_", " ")):
        return lines
    words, tone = effect_state(record.state)
    granted = f", for {drawable(record.granted_to)}" if record.granted_to else ""
    return [*lines, ((f"{words}{granted}", tone),)]


def _remote(record: EffectRecord, now: float, room: int) -> list[Cell]:
    if record.kind != "keyed":
        return []
    left = record.window_left_s(now)
    if left is None:
        window: Piece = ("how long the other system knows this key is not known", Tone.MUTED)
    elif left > 0:
        window = (f"the other system knows it for another {fmt.countdown(left)}", Tone.PLAIN)
    else:
        window = ("the other system may have forgotten it", Tone.WARM)
    return [((clip(drawable(record.remote_key), room, cell_len), Tone.PLAIN),), (window,)]


def _attempts(record: EffectRecord) -> str:
    return "none" if not record.attempt else "1 run" if record.attempt == 1 else f"{record.attempt} runs"


def _log(log: tuple[LogRow, ...], record: EffectRecord, now: float, room: int) -> list[Cell]:
    lines: list[Cell] = []
    if len(log) > LOG_ROWS:
        lines.append(((f"… {len(log) - LOG_ROWS} earlier", Tone.FAINT),))
    for row in log[-LOG_ROWS:]:
        lines.append(((f"{stamp(row.at, now)}  ", Tone.MUTED), (log_words(row), Tone.PLAIN)))
        evidence = "" if row.evidence == record.error else row.evidence
        for label, text in (("why: ", row.reason), ("evidence: ", evidence)):
            if text.strip():
                lines += [((f"  {line}", Tone.MUTED),) for ((line, _),) in _plain(f"{label}{text}", room - 2, 4)]
    return lines or [(("nothing is written down", Tone.FAINT),)]

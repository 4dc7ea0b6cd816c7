"""A card's rule and lines, whatever its item is. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len

from widgets import effect_layout
from widgets.ask_layout import ask_lines, rule_words
from widgets.cells import Cell, Piece, Tone, clip_pieces, drawable
from widgets.effect_layout import effect_lines
from widgets.ticket_layout import Past, ticket_lines
from widgets.transcript_wrap import wrap

if TYPE_CHECKING:
    from widgets.items import Item


@dataclass(frozen=True, slots=True)
class Look:
    """What a card shows beside its item."""

    now: float = 0.0
    """Seconds since the epoch."""
    is_ours: bool = False
    """The effect was claimed by this very process."""
    notice: str = ""
    """Why the last decision was refused; untrusted text."""
    empty: str = ""
    """What to say where there is nothing."""
    past: Past | None = None
    """What happened to the ticket; None while that is not known."""


def is_ticking(item: Item | None) -> bool:
    """Return whether a card changes as time passes."""
    return item is not None and item.effect is not None and effect_layout.is_ticking(item.effect)


def card_rule(item: Item | None, now: float, width: int, *, is_active: bool = False, below: int = 0) -> Cell:
    """Return the line above a card, such as ``── effect deploy · 003-deploy · once · key 003-deploy:deploy ──``.

    Args:
        item: What the card shows.
        now: Seconds since the epoch.
        width: Cells.
        is_active: The keys scroll the card.
        below: Lines of the card that the view is too small for.
    """
    lead: Piece = ("━━ ", Tone.ACCENT) if is_active else ("── ", Tone.FAINT)
    if item is None:
        return (("─" * width, Tone.FAINT),)
    name, rest = _named(item, now)
    words = "".join(f" · {drawable(word)}" for word in rest if word)
    more = f" ↓ {below} more ──" if below else ""
    left: Cell = (lead, (drawable(name), Tone.STRONG), (words, Tone.MUTED))
    taken = sum(cell_len(text) for text, _ in left) + cell_len(more)
    dashes: Piece = (" " + "─" * max(0, width - taken - 1), Tone.FAINT)
    return clip_pieces((*clip_pieces((*left, dashes), max(0, width - cell_len(more))), (more, Tone.ACCENT)), width)


def _named(item: Item, now: float) -> tuple[str, list[str]]:
    if item.effect is not None:
        record = item.effect.record
        return f"effect {record.effect}", [record.ticket, record.kind, f"key {record.key}"]
    if item.ask is not None:
        return rule_words(item.ask, now)
    return item.ticket_id, [item.ticket.title if item.ticket is not None else ""]


def card_lines(item: Item | None, look: Look, width: int) -> list[Cell]:
    """Return a card's lines, none wider than ``width``."""
    notice: list[Cell] = [((line, Tone.BAD),) for line in _wrapped(look.notice, width)]
    if item is None:
        return [*notice, *(((line, Tone.MUTED),) for line in _wrapped(look.empty, width))]
    if item.pending:
        notice.append(((f"{drawable(item.pending)} …", Tone.ACCENT),))
    if item.effect is not None:
        return notice + effect_lines(item.effect, look.now, width, is_ours=look.is_ours)
    if item.ask is not None:
        return notice + ask_lines(item.ask, look.now, width, item.draft)
    return notice + (ticket_lines(item.ticket, look.past, width, item.blocker) if item.ticket is not None else [])


def _wrapped(text: str, width: int) -> list[str]:
    return wrap([drawable(text)], width) if text else []

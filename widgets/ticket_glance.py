"""A ticket at a glance, beside its conversation: attempts, effects and changed files, each on a line. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from widgets.attempt_facts import cost, why_ended
from widgets.cells import Cell, Piece, Tone, clip_pieces, drawable, fit
from widgets.changed_files import file_cell, total_words
from widgets.effect_words import effect_state

if TYPE_CHECKING:
    from collections.abc import Sequence

    from supervisor.core.changes import Changes
    from supervisor.core.effects import EffectView
    from supervisor.core.model import AttemptRecord

MOST = 8
"""Most lines of each part; of attempts the newest."""
_LEAD: Piece = (" ", Tone.PLAIN)


def glance_lines(
    attempts: Sequence[AttemptRecord] | None,
    effects: Sequence[EffectView],
    changes: Changes | None,
    trouble: str,
    width: int,
) -> list[Cell]:
    """Return the lines of the card, none wider than ``width``.

    Args:
        attempts: Oldest first; None while they are read.
        effects: What the ticket, or its lineage, wanted done.
        changes: What differs from the base; None while that is read.
        trouble: Why it cannot be read, safe to draw; empty if it can.
        width: Cells.
    """
    tries = [_attempt(attempt, width) for attempt in reversed(attempts or ())]
    total = "reading …" if changes is None else total_words(changes)
    files = [(_LEAD, *file_cell(change, width - 1)) for change in (changes.files if changes is not None else ())]
    return [
        *_part("attempts", "reading …" if attempts is None else str(len(attempts)), tries, width),
        (),
        *_part("effects", str(len(effects)), [_effect(view) for view in effects], width),
        (),
        *_part("changes", trouble or total, files, width),
    ]


def _part(name: str, words: str, lines: Sequence[Cell], width: int) -> list[Cell]:
    kept = list(lines if len(lines) <= MOST else lines[: MOST - 1])
    if len(lines) > len(kept):
        kept.append(((f" … {len(lines) - len(kept)} more", Tone.FAINT),))
    head: Cell = ((f"{name}  ", Tone.STRONG), (words, Tone.MUTED))
    return [clip_pieces(line, width) for line in (head, *kept)]


def _attempt(attempt: AttemptRecord, width: int) -> Cell:
    why, tone = why_ended(attempt)
    mode = fit(attempt.mode.value, 8)
    return (_LEAD, (f"{attempt.number:>2} {mode} {cost(attempt):>6}  ", Tone.MUTED), (why, tone))


def _effect(view: EffectView) -> Cell:
    return (_LEAD, effect_state(view.record.state), (f"  {drawable(view.record.key)}", Tone.PLAIN))

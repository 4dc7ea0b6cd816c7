"""The lines of an effect's card: what the agent said, what it asked for, what happened, and the log. Pure.

Each part has a most, so no payload is too big.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len

from supervisor.core.effects import EffectState
from supervisor.core.text import clip
from widgets import formatting as fmt
from widgets.card_lines import flowed, labelled, one, plain, room
from widgets.cells import Cell, Piece, Tone, drawable
from widgets.effect_words import effect_state, fields, log_words, owner_words, ran_until, stamp

if TYPE_CHECKING:
    from supervisor.core.effects import EffectRecord, EffectView, LogRow

SAID_LINES = 6
ERROR_LINES = 12
LOG_ROWS = 60
"""Most lines of each part; of the log the newest."""

_CHECKED = {True: "set: 5 asks the other system", False: "not set"}


def effect_lines(view: EffectView, now: float, width: int, *, is_ours: bool = False) -> list[Cell]:
    """Return the card of an effect, none of its lines wider than ``width``."""
    record, cells = view.record, room(width)
    outcome = plain(record.outcome_text, cells, ERROR_LINES) if record.outcome is not None else []
    parts: list[tuple[str, list[Cell]]] = [
        ("the agent said", _said(record, cells)),
        ("payload", _payload(record, cells)),
        ("happened", _happened(view, now, cells, is_ours)),
        ("outcome", outcome),
        ("remote key", _remote(record, now, cells)),
        ("attempts", one(_attempts(record))),
        ("probe", one("under way …" if view.busy else _CHECKED[view.has_probe])),
        ("log", _log(view.log, record, now, cells)),
    ]
    return labelled(parts, width)


def is_ticking(view: EffectView) -> bool:
    """Return whether an effect's card changes as time passes."""
    return view.record.state is EffectState.CLAIMED or view.record.kind == "keyed"


def _said(record: EffectRecord, cells: int) -> list[Cell]:
    if not record.said.strip():
        return [(("nothing", Tone.FAINT),)]
    return plain(f'"{record.said.strip()}"', cells, SAID_LINES)


def _payload(record: EffectRecord, cells: int) -> list[Cell]:
    if record.payload in (None, {}):
        return [(("empty", Tone.FAINT),)]
    shown, is_cut = fields(record.payload)
    lines = flowed(shown, cells)
    return [*lines, (("… more fields", Tone.FAINT),)] if is_cut else lines


def _happened(view: EffectView, now: float, cells: int, is_ours: bool) -> list[Cell]:
    record = view.record
    lines: list[Cell] = []
    if record.claimed_at is None:
        asked = f", asked for {stamp(record.requested_at, now)}" if record.requested_at else ""
        lines += plain(f"nothing ran yet{asked}", cells, 2)
    else:
        lines += plain(f"claimed {stamp(record.claimed_at, now)} by {owner_words(view, is_ours)}", cells, 3)
    ended = ran_until(view)
    if record.state is EffectState.CLAIMED and record.claimed_at is not None:
        limit = f" of at most {record.timeout_s:.0f} s" if record.timeout_s else ""
        ended = f"running for {fmt.countdown(now - record.claimed_at)}{limit}" if is_ours else "no outcome yet"
    if ended or record.error:
        words = f"{ended}: {record.error}" if ended and record.error else ended or record.error
        lines += plain(words, cells, ERROR_LINES)
    if ended.startswith(record.state.value.replace("_", " ")):
        return lines
    words, tone = effect_state(record.state)
    granted = f", for {drawable(record.granted_to)}" if record.granted_to else ""
    return [*lines, ((f"{words}{granted}", tone),)]


def _remote(record: EffectRecord, now: float, cells: int) -> list[Cell]:
    if record.kind != "keyed":
        return []
    left = record.window_left_s(now)
    if left is None:
        window: Piece = ("how long the other system knows this key is not known", Tone.MUTED)
    elif left > 0:
        window = (f"the other system knows it for another {fmt.countdown(left)}", Tone.PLAIN)
    else:
        window = ("the other system may have forgotten it", Tone.WARM)
    return [((clip(drawable(record.remote_key), cells, cell_len), Tone.PLAIN),), (window,)]


def _attempts(record: EffectRecord) -> str:
    return "none" if not record.attempt else "1 run" if record.attempt == 1 else f"{record.attempt} runs"


def _log(log: tuple[LogRow, ...], record: EffectRecord, now: float, cells: int) -> list[Cell]:
    lines: list[Cell] = []
    if len(log) > LOG_ROWS:
        lines.append(((f"… {len(log) - LOG_ROWS} earlier", Tone.FAINT),))
    for row in log[-LOG_ROWS:]:
        lines.append(((f"{stamp(row.at, now)}  ", Tone.MUTED), (log_words(row), Tone.PLAIN)))
        evidence = "" if row.evidence == record.error else row.evidence
        for label, text in (("why: ", row.reason), ("evidence: ", evidence)):
            if text.strip():
                lines += [((f"  {line}", Tone.MUTED),) for ((line, _),) in plain(f"{label}{text}", cells - 2, 4)]
    return lines or [(("nothing is written down", Tone.FAINT),)]

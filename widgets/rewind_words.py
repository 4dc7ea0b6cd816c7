"""How rewinds are written: prompts to go back to, and what a dry run found. Pure; every word is made safe here."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from supervisor.core.changes import ChangeKind
from supervisor.core.effects import EffectState
from supervisor.core.rewinds import Source
from widgets.cells import Cell, Piece, Tone, drawable
from widgets.effect_words import effect_state
from widgets.formatting import clock
from widgets.transcript_wrap import Line, flow, wrap

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from supervisor.core.changes import Changes, FileChange, LeftOut
    from supervisor.core.cuts import Cut
    from supervisor.core.effects import EffectRecord
    from supervisor.core.rewinds import Checkpoint, RewindPreview

CHECKPOINTS = "    #  TIME   FILES  PROMPT"
CUTS = "  PROMPT  TIME   SAID"
"""What stands above the two lists."""
MOST_FILES = 200
"""Most files of each kind that are listed."""
_SIGNS: Mapping[ChangeKind, str] = MappingProxyType(
    {
        ChangeKind.ADDED: "comes back",
        ChangeKind.DELETED: "goes away",
        ChangeKind.MODIFIED: "",
        ChangeKind.RENAMED: "renamed",
        ChangeKind.TYPECHANGE: "another kind of file",
    }
)
_BULLET: Cell = (("  ", Tone.PLAIN),)


def checkpoint_cell(point: Checkpoint, changes: Changes | None) -> Cell:
    """Return the line of a prompt, under `CHECKPOINTS`; ``–`` where no files were kept."""
    count = f"{len(changes.files)}{'+' if changes.truncated else ''}" if changes is not None else ""
    return (
        (f"{point.number:>3}  ", Tone.ACCENT),
        (f"{clock(point.at)}  ", Tone.MUTED),
        (f"{count if point.snapshot else '–':>5}  ", Tone.MUTED),
        (drawable(point.words), Tone.PLAIN),
    )


def cut_cell(cut: Cut) -> Cell:
    """Return the line of a place where a conversation may be cut, under `CUTS`."""
    words = drawable(" ".join(cut.words.split()))
    return (
        (f"{cut.prompt_number:>6}  ", Tone.ACCENT),
        (f"{clock(cut.at) if cut.at else '     '}  ", Tone.MUTED),
        (words, Tone.PLAIN),
    )


def changes_words(changes: Changes) -> str:
    """Return how much changes, such as ``3 files, +12 −4``."""
    count = len(changes.files)
    if not count:
        return "no file changes"
    files = f"{count}{'+' if changes.truncated else ''} file{'' if count == 1 and not changes.truncated else 's'}"
    return f"{files}, +{changes.insertions} −{changes.deletions}"


def preview_lines(preview: RewindPreview, width: int) -> list[Cell]:
    """Return what a dry run found, in lines no wider than ``width``."""
    return list(_preview_lines(preview, width))


def _preview_lines(preview: RewindPreview, width: int) -> Iterator[Cell]:
    if preview.refusal:
        yield from _words(f"Not now: {preview.refusal}", width, Tone.BAD)
        yield ()
    would = f"Would change {changes_words(preview.changes)}" if preview.changes.files else "Would change no file"
    yield from _words(would, width, Tone.STRONG)
    yield from _files(preview.changes.files, width)
    if preview.outside:
        yield ()
        yield from _words("Changed by somebody else than the agent since (a snapshot keeps it):", width, Tone.WARM)
        yield from _files(preview.outside, width)
    if not preview.outside_known:
        yield ()
        words = "What others changed since cannot be told: an agent died at work. A snapshot keeps all of it."
        yield from _words(words, width, Tone.WARM)
    if preview.not_kept:
        yield ()
        yield from _words("Changes, and no undo brings it back:", width, Tone.WARM)
        yield from _left_out(preview.not_kept, width)
    if preview.not_restored:
        yield ()
        yield from _words("Stays as it is:", width, Tone.STRONG)
        yield from _left_out(preview.not_restored, width)
    yield ()
    yield from effects_lines(preview.stays_done, width)
    for note in preview.notes:
        yield from _words(note, width, Tone.MUTED)


def effects_lines(records: Sequence[EffectRecord], width: int) -> list[Cell]:
    """Return which effects are not taken back, in lines no wider than ``width``."""
    if not records:
        return _words("No effect has happened since.", width, Tone.MUTED)
    certain = all(record.state is EffectState.DONE for record in records)
    lines = _words("Effects stay done:" if certain else "Effects are not taken back:", width, Tone.STRONG)
    for record in records:
        name: Piece = (f"{drawable(record.op)}  ", Tone.PLAIN)
        lines += flow(Line((name, effect_state(record.state)), _BULLET, _BULLET), width)
    return lines


def effects_words(records: Sequence[EffectRecord]) -> str:
    """Return the same on one line, such as ``stay done: upload; may have happened: deploy``; empty for none."""
    done = [drawable(record.op) for record in records if record.state is EffectState.DONE]
    others = [drawable(record.op) for record in records if record.state is not EffectState.DONE]
    parts = (done and f"stay done: {', '.join(done)}", others and f"may have happened: {', '.join(others)}")
    return "; ".join(part for part in parts if part)


def source_words(source: Source) -> str:
    """Return what files are taken from, in a few words."""
    return {Source.SNAPSHOT: "git snapshot", Source.CHECKPOINT: "session checkpoint"}.get(source, source.value)


def _files(files: Sequence[FileChange], width: int) -> Iterator[Cell]:
    for change in files[:MOST_FILES]:
        before = f"{drawable(change.old_path)} → " if change.old_path is not None else ""
        body: Cell = (*_counts(change), (before + drawable(change.path), Tone.PLAIN), (_remark(change), Tone.MUTED))
        yield from flow(Line(body, _BULLET, _BULLET), width)
    if len(files) > MOST_FILES:
        yield ((f"  and {len(files) - MOST_FILES} more", Tone.MUTED),)


def _counts(change: FileChange) -> tuple[Piece, ...]:
    if change.binary:
        return (("binary    ", Tone.MUTED),)
    return (f"{f'+{change.insertions}':>5}", Tone.ADDED), (f"{f'−{change.deletions}':>5} ", Tone.REMOVED)


def _remark(change: FileChange) -> str:
    words = _SIGNS[change.kind]
    return f"  {words}" if words else ""


def _left_out(each: Iterable[LeftOut], width: int) -> Iterator[Cell]:
    for number, one in enumerate(each):
        if number == MOST_FILES:
            yield (("  and more", Tone.MUTED),)
            return
        words: Cell = ((drawable(one.path), Tone.PLAIN), (f"  {drawable(one.reason)}", Tone.MUTED))
        yield from flow(Line(words, _BULLET, _BULLET), width)


def _words(text: str, width: int, tone: Tone) -> list[Cell]:
    return [((line, tone),) for line in wrap([drawable(text)], width)]

"""What was said before this run: the end of a ticket's sessions' files, and what the store knows besides, as entries.

A session may have said 500 MB; a file is read from its end, and only as far back as there is room for.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from supervisor.core.transcript import TRANSCRIPT_CHARS
from supervisor.engine import transcripts
from supervisor.engine.backwards import MOST_BYTES, lines_backwards
from supervisor.engine.session_lines import NOTHING, Known, entries_of, parsed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from supervisor.core.model import Entry
    from supervisor.core.past import Stretch

MOST_ENTRIES = 400
"""Most entries that are read back."""
_MOST_SUBAGENTS = 8
"""Files of subagents that are looked at in each session, the latest first."""


def load_history(
    config_dir: Path,
    sessions: Sequence[Stretch],
    known: Known = NOTHING,
    before: float = math.inf,
    told: Iterable[Entry] = (),
) -> tuple[Entry, ...]:
    """Return the end of a ticket's conversation. Blocks: call it in a thread. Never raises for what a file holds.

    Args:
        config_dir: The directory that the agents use as ``CLAUDE_CONFIG_DIR``.
        sessions: Those it was held in, oldest first.
        known: What the store knows of what their files hold.
        before: Seconds since the epoch; what was said later is left out, since it was heard live.
        told: What the store tells of the same time, oldest first, such as results of turns: the CLI does not write
            those down. It stands where it happened, and goes as far back as there is room for all that was said.

    Returns:
        At most 400 entries and as many characters as a transcript keeps, oldest first, numbered up to -1.
    """
    entries: list[Entry] = []
    since, ceiling = -math.inf, math.inf
    for session in reversed(sessions):
        said, since = _said_in(config_dir, session, known, before, ceiling)
        entries = said + entries
        ceiling = min((entry.at for entry in said), default=ceiling)
        if since > -math.inf or len(entries) >= MOST_ENTRIES:
            break  # there is no room for what was said in an earlier one
    entries += [entry for entry in told if entry.at < before]
    entries = sorted((entry for entry in entries if entry.at >= since), key=lambda entry: entry.at)
    kept, _ = _newest(reversed(entries))
    return tuple(replace(entry, seq=number - len(kept)) for number, entry in enumerate(reversed(kept)))


def _said_in(
    config_dir: Path, session: Stretch, known: Known, before: float, ceiling: float
) -> tuple[list[Entry], float]:
    """Return what there is room for of one session, and from when on that is all that was said.

    None of it is later than ``ceiling``: the next session was begun by then, whatever the clock says.
    """
    try:
        path = transcripts.find(config_dir, session.session_id)
        if path is None:
            return [], -math.inf
        nested, is_long = _subagents(path), path.stat().st_size > MOST_BYTES
    except (OSError, ValueError):
        return [], -math.inf
    entries, is_cut = _tail(_lines(path, session.since, known, before), ceiling)
    since = entries[0].at if entries and (is_cut or is_long) else -math.inf
    for file in nested:
        said, _ = _tail(_lines(file, session.since, known, before), ceiling)
        entries += [replace(entry, nested=True) for entry in said]
    return entries, since


def _subagents(path: Path) -> list[Path]:
    files = list(path.with_suffix("").glob("subagents/*.jsonl"))
    return sorted(files, key=lambda file: file.stat().st_mtime, reverse=True)[:_MOST_SUBAGENTS]


def _tail(newest_first: Iterator[Entry], ceiling: float) -> tuple[list[Entry], bool]:
    """Return what there is room for of one file, oldest first, and whether there was more."""
    kept, is_cut = _newest(newest_first)
    at = min(ceiling, max((entry.at for entry in kept), default=0.0))
    for place, entry in enumerate(kept):
        # The order in the file is the truth; a clock that was set back, or a line without a time, must not change it.
        at = min(at, entry.at or at)
        kept[place] = replace(entry, at=at)
    return kept[::-1], is_cut


def _newest(entries: Iterator[Entry]) -> tuple[list[Entry], bool]:
    """Return the first ones of entries that come newest first, as far as a transcript has room; and whether not all."""
    kept: list[Entry] = []
    chars = 0
    for entry in entries:
        chars += len(entry.text) + len(entry.detail) + (len(entry.diff.text) if entry.diff else 0) + 100
        if chars > TRANSCRIPT_CHARS or len(kept) == MOST_ENTRIES:
            return kept, True
        kept.append(entry)
    return kept, False


def _lines(path: Path, since: float, known: Known, before: float) -> Iterator[Entry]:
    """Yield what a file tells of a time, newest first; nothing more where it cannot be read."""
    with suppress(OSError):
        for raw in lines_backwards(path):
            line = parsed(raw)
            if line is None:
                continue
            at = transcripts.when(line)
            if 0 < at < since:
                return
            if at < before:
                yield from reversed(list(entries_of(line, at, known)))

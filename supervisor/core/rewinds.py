"""Taking files back: where to, what a dry run says of it, and what the history of a ticket tells.

Frozen records and pure functions over events. Paths are the agent's: make them safe before they are drawn or stored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from supervisor.core import events as ev
from supervisor.core.model import State
from supervisor.core.text import safe_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from supervisor.core.changes import Changes, FileChange, LeftOut
    from supervisor.core.effects import EffectRecord
    from supervisor.core.model import PromptKind

MAX_NAMED = 40
"""Most files that the history, and the agent, are told by name."""
_WORDS = 60
_BEFORE_REWIND = "how they were before the rewind"
"""Where an undo of a rewind goes back to."""
FILES_TAKEN_BACK = "files taken back since"
"""What a done ticket says whose files are no longer those that its work ended with."""


class Source(StrEnum):
    """What files are taken from."""

    SNAPSHOT = "snapshot"
    """git's snapshot before a prompt: everything that is not ignored, what commands did included."""
    CHECKPOINT = "checkpoint"
    """The session's own: what its Write, Edit and NotebookEdit tools changed, and nothing else."""
    UNDO = "undo"
    """The snapshot taken before files were last taken back, or the ticket was started over."""
    BASE = "base"
    """The commit the work began from; it is what starting over goes back to."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A prompt of ours that files can be taken back to: to how they were just before it."""

    number: int
    """1 is the ticket's first prompt."""
    uuid: str
    kind: PromptKind
    words: str
    """Its first line, cut; safe to draw."""
    at: float
    snapshot: str = ""
    """Commit that holds the files of that moment; empty where none could be taken."""
    in_session: bool = False
    """It belongs to the session in use, which may have a checkpoint of its own for it."""

    @property
    def to(self) -> str:
        """The state it stands for, in words that follow "taken back to"."""
        return f'how they were before prompt {self.number}, "{self.words}"'


@dataclass(frozen=True, slots=True)
class EditRewind:
    """What the session's own checkpoints answered, to a dry run or to the real thing."""

    files: tuple[str, ...] = ()
    """Absolute paths; a dry run only."""
    skipped_links: int = 0
    """Files that were left alone because a link is in their place or on the way to it; the real thing only."""
    error: str = ""
    """Why it was refused, in the CLI's words or ours; empty if it was not."""


@dataclass(frozen=True, slots=True)
class RewindPreview:
    """What taking files back would do. Nothing was changed to find out."""

    ticket: str
    source: Source
    to: str
    """Where to, in words that follow "taken back to"."""
    changes: Changes
    """What would happen to the files, as a diff from now to then."""
    not_restored: tuple[LeftOut, ...] = ()
    """What would stay as it is, though it may differ."""
    not_kept: tuple[LeftOut, ...] = ()
    """What would change and no snapshot holds: undoing would not bring it back."""
    outside: tuple[FileChange, ...] = ()
    """Files among ``changes`` that somebody else than the agent has changed since; the snapshot keeps them."""
    outside_known: bool = True
    """False if an agent died at work: what it did cannot be told from what others did."""
    stays_done: tuple[EffectRecord, ...] = ()
    """Effects since then that may have happened: files can be taken back, they cannot."""
    notes: tuple[str, ...] = ()
    """Sentences for the operator."""
    refusal: str = ""
    """Why it cannot be done right now; empty if it can."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A time in which no agent of the ticket's was at work: what changed in it, somebody else changed."""

    left: str
    """Commit with the files as the agent, or a rewind, left them."""
    found: str
    """Commit with the files as they were found next; empty for now."""


def prompt_words(text: str) -> str:
    """Return the first line of a prompt that says something, cut and safe to draw."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return safe_line(line, _WORDS)


def named(paths: Sequence[str], most: int = 3) -> str:
    """Return some names and how many more there are, safe to draw."""
    words = ", ".join(safe_line(path, 200) for path in paths[:most])
    return f"{words} and {len(paths) - most} more" if len(paths) > most else words


def last_taken_back(events: Iterable[ev.Event]) -> ev.FilesRewound | ev.StartedOver | None:
    """Return what an undo undoes: the latest rewind, which may itself be an undo, or start over."""
    return next((e for e in reversed(list(events)) if isinstance(e, ev.FilesRewound | ev.StartedOver)), None)


def undone_to(events: Sequence[ev.Event]) -> str:
    """Return where an undo goes back to, in words that follow "taken back to". Undoing an undo is doing it again."""
    last = last_taken_back(events)
    if isinstance(last, ev.StartedOver):
        return "how they were before the ticket was started over"
    before = reversed(events[: next((i for i, e in enumerate(events) if e is last), 0)])
    earlier = next((e for e in before if isinstance(e, ev.FilesRewound | ev.StartedOver | ev.PromptStored)), None)
    if isinstance(earlier, ev.FilesRewound) and last is not None and earlier.snapshot == last.left:
        return earlier.to
    return _BEFORE_REWIND


def rewound_words(files: str, to: str) -> str:
    """Return in a sentence what became of some files, such as ``4 files``, that were taken back to somewhere."""
    if to == _BEFORE_REWIND:
        return f"rewind undone: {files} as before it"
    return f"{files} taken back to {to}"


def started_over_at(events: Iterable[ev.Event]) -> float | None:
    """Return when the ticket was last started over; None if it never was."""
    return max((e.at for e in events if isinstance(e, ev.StartedOver)), default=None)


def untold(events: Iterable[ev.Event]) -> ev.FilesRewound | None:
    """Return the rewinds since the last prompt as one; None if there are none, or an undo has made them void."""
    whole: ev.FilesRewound | None = None
    for event in events:
        if isinstance(event, ev.PromptStored | ev.StartedOver):
            whole = None
        elif isinstance(event, ev.FilesRewound):
            whole = event if whole is None else _joined(whole, event)
            if whole.left and whole.left == whole.snapshot:
                whole = None
    return whole


def _joined(first: ev.FilesRewound, then: ev.FilesRewound) -> ev.FilesRewound:
    files = tuple(dict.fromkeys((*first.files, *then.files)))
    more = first.more + then.more + len(files[MAX_NAMED:])
    return replace(then, snapshot=first.snapshot, files=files[:MAX_NAMED], more=more)


def last_files(events: Iterable[ev.Event]) -> str:
    """Return the commit that holds the files as they were last known to be; empty where there is none."""
    known = ""
    for event in events:
        match event:
            case ev.PromptStored(snapshot=commit) | ev.AttemptEnded(snapshot=commit) | ev.FilesRewound(left=commit):
                known = commit or known
            case ev.StartedOver():
                known = ""
    return known


@dataclass(frozen=True, slots=True)
class WorkDone:
    """How a ticket's last work ended, as far as it is known."""

    detail: str = ""
    """What the ticket said when it was done."""
    files: str = ""
    """Commit that holds the files as its agent left them; empty where nobody kept them."""


def work_done(events: Iterable[ev.Event]) -> WorkDone:
    """Return how the work of a ticket that is done ended, before anything was taken back."""
    detail, files, is_done = "", "", False
    for event in events:
        match event:
            case ev.StateChanged():
                detail = event.detail if event.to is State.DONE and not is_done else detail
                is_done = event.to is State.DONE
            case ev.AttemptEnded(snapshot=commit):
                files = commit
            case ev.LetterPosted(wakes=True):
                is_done = False
            case ev.StartedOver():
                is_done, files = False, ""
    return WorkDone(detail, files)


def can_be_gone_back_to(events: Iterable[ev.Event]) -> frozenset[str]:
    """Return the commits that a rewind, an undo or a lost worktree may need: all but what agents left long ago.

    Those kept before a rewind and a start over also hold what the operator took back, commits included.
    """
    found: set[str] = set()
    last = ""
    for event in events:
        match event:
            case ev.PromptStored(snapshot=commit) | ev.StartedOver(snapshot=commit):
                found.add(commit)
            case ev.FilesRewound(snapshot=before, left=after):
                found |= {before, after}
            case ev.AttemptEnded(snapshot=commit):
                last = commit or last
    return frozenset(found | {last} - {""})


def gaps(events: Sequence[ev.Event], prompt: str | None = None) -> tuple[tuple[Gap, ...], bool]:
    """Return the times without an agent, up to now, and whether they are all known.

    Args:
        events: all lasting events of the ticket.
        prompt: uuid of the prompt they are counted from; None for the last rewind or start over.
    """
    found: list[Gap] = []
    left, known = "", True
    for event in events[_begin(events, prompt) :]:
        match event:
            case ev.PromptStored(snapshot=now):
                _close(found, left, now)
                left = ""  # the agent is at work
            case ev.AttemptEnded(snapshot=now):
                left = now
                known = known and bool(now)
            case ev.FilesRewound(snapshot=now, left=after):
                _close(found, left, now)
                left = after
            case ev.WorktreeLost() | ev.WorktreeReady() | ev.StartedOver():
                left = ""  # the setup runs, which is nobody's doing
    _close(found, left, "")
    return tuple(found), known


def _begin(events: Sequence[ev.Event], prompt: str | None) -> int:
    def begins(event: ev.Event) -> bool:
        if prompt is None:
            return isinstance(event, ev.FilesRewound | ev.StartedOver)
        return isinstance(event, ev.PromptStored) and event.uuid == prompt

    return next((i for i in range(len(events) - 1, -1, -1) if begins(events[i])), len(events))


def _close(found: list[Gap], left: str, now: str) -> None:
    if left and left != now:
        found.append(Gap(left, now))

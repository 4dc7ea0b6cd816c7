"""One ticket's conversation: a bounded tail of entries, and what each event adds to it. Pure."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from supervisor.core import events as ev
from supervisor.core.asks import verdict_words
from supervisor.core.model import Entry, EntryKind
from supervisor.core.prompt_parts import parted
from supervisor.core.rewinds import rewound_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

TRANSCRIPT_CHARS = 160_000
"""Most characters kept in memory of one ticket's transcript; the session's own file holds the rest."""
ENTRY_CHARS = 8_000
"""Most characters kept of one entry."""


_DIAGNOSTIC = "[ede_diagnostic]"
"""Begins a line for the CLI's own makers, which comes with every interrupt (CLI 2.1.332); the record keeps it."""
_LONG_SUM = re.compile(r"\$(\d{1,15}\.\d{5,20})(?!\d)", re.ASCII)
"""A sum with more digits than money has: the CLI prints floats as they come (CLI 2.1.332)."""
_CENT_USD = 0.01


class Transcript:
    """The bounded tail of one ticket's conversation."""

    def __init__(self) -> None:
        self._entries: deque[Entry] = deque()
        self._chars = 0
        self._next = 0
        self._is_whole = True
        """Nothing was dropped yet, so that what comes before the first entry fits to it."""

    @property
    def next_seq(self) -> int:
        """Sequence number the next entry will get; grows with every entry, also with those since dropped."""
        return self._next

    @property
    def first_seq(self) -> int:
        """Sequence number of the first entry kept; `next_seq` when there is none. Negative for what was prepended."""
        return self._entries[0].seq if self._entries else self._next

    def add(self, at: float, kind: EntryKind, text: str, detail: str = "", **more: object) -> None:
        """Append an entry, dropping the oldest ones beyond ``TRANSCRIPT_CHARS``."""
        entry = Entry(self._next, at, kind, text[:ENTRY_CHARS], detail[:ENTRY_CHARS], **more)  # type: ignore[arg-type]
        self._next += 1
        self._entries.append(entry)
        self._chars += _weight(entry)
        while self._chars > TRANSCRIPT_CHARS and len(self._entries) > 1:
            self._chars -= _weight(self._entries.popleft())
            self._is_whole = False

    def take(self, event: ev.Event) -> None:
        """Add what there is to say of an event, if anything."""
        _ENTRIES.get(type(event), _no_entry)(self, event)

    def prepend(self, entries: Sequence[Entry]) -> int:
        """Put entries of an earlier time before the first one, as many of the last ones as there is room for.

        They get the numbers below the first entry's, so that whoever has seen that one misses nothing.

        Args:
            entries: Oldest first; their own numbers do not count.

        Returns:
            How many were taken: none once entries were dropped, since there would be a gap.
        """
        taken = 0
        for entry in reversed(entries if self._is_whole else ()):
            text, detail = entry.text[:ENTRY_CHARS], entry.detail[:ENTRY_CHARS]
            cut = replace(entry, seq=self.first_seq - 1, text=text, detail=detail)
            if self._chars + _weight(cut) > TRANSCRIPT_CHARS:
                break
            self._entries.appendleft(cut)
            self._chars += _weight(cut)
            taken += 1
        return taken

    def ends_with(self, words: str) -> bool:
        """Return whether the last entry is a turn's ending whose errors say that already."""
        last = self._entries[-1] if self._entries else None
        return last is not None and last.kind is EntryKind.ENDING and words == last.detail.replace("\n", "; ")

    def since(self, seq: int | None = None) -> tuple[Entry, ...]:
        """Return the entries from ``seq`` on, oldest first; all of them for None."""
        skip = 0 if seq is None else max(0, seq - self.first_seq)
        return tuple(islice(self._entries, skip, None))


def _weight(entry: Entry) -> int:
    return len(entry.text) + len(entry.detail) + (len(entry.diff.text) if entry.diff is not None else 0) + 100


def _no_entry(_: Transcript, __: ev.Event) -> None:
    return None


def _prompt(t: Transcript, e: ev.PromptStored) -> None:
    t.add(e.at, EntryKind.PROMPT, *parted(e.text, e.kind), prompt=e.kind)


def _spoke(t: Transcript, e: ev.AgentSpoke) -> None:
    t.add(e.at, EntryKind.THINKING if e.thinking else EntryKind.TEXT, e.text, nested=e.nested)


def _tool(t: Transcript, e: ev.ToolCalled) -> None:
    text = f"{e.name} {e.summary}".rstrip()
    t.add(e.at, EntryKind.TOOL, text, e.detail, tool_use_id=e.tool_use_id, nested=e.nested, diff=e.diff)


def _returned(t: Transcript, e: ev.ToolReturned) -> None:
    key, failed = e.tool_use_id, e.is_error
    t.add(e.at, EntryKind.RESULT, e.text, tool_use_id=key, is_error=failed, nested=e.nested, diff=e.diff)


def _note(t: Transcript, e: ev.Noted) -> None:
    t.add(e.at, EntryKind.NOTE, e.text, is_error=e.is_error)


def _retrying(t: Transcript, e: ev.Retrying) -> None:
    cause = f"API {e.status}" if e.status else "API unreachable"
    t.add(e.at, EntryKind.NOTE, f"{cause}: retry {e.attempt}/{e.max_retries} in {e.delay_s:.1f} s")


def _turn(t: Transcript, e: ev.TurnEnded) -> None:
    turns = "1 turn" if e.num_turns == 1 else f"{e.num_turns} turns"
    cost = "<1¢" if 0 < e.cost_usd < _CENT_USD / 2 else f"${e.cost_usd:.2f}"
    words = f"{e.subtype} · {e.terminal_reason or 'no terminal reason'} · {turns} · {cost}"
    t.add(e.at, EntryKind.ENDING, words, "\n".join(telling(e.errors)), is_error=e.is_error)


def _ended(t: Transcript, e: ev.AttemptEnded) -> None:
    if e.detail:
        words = f"attempt {e.number} ended"
        t.add(e.at, EntryKind.NOTE, words if t.ends_with(e.detail) else f"{words}: {e.detail}", e.stderr_tail)


def _corrected(t: Transcript, e: ev.CostCorrected) -> None:
    how = "more" if e.by_usd >= 0 else "less"
    t.add(e.at, EntryKind.NOTE, f"attempt {e.number} cost ${abs(e.by_usd):.4f} {how} than was booked for it")


def _verified(t: Transcript, e: ev.Verified) -> None:
    ending = "passed" if e.exit_code == 0 else "ran out of time" if e.exit_code is None else f"exit {e.exit_code}"
    t.add(e.at, EntryKind.NOTE, f"verify, round {e.round}: {ending}", e.output, is_error=e.exit_code != 0)


def _asked(t: Transcript, e: ev.AskAnswered) -> None:
    t.add(e.at, EntryKind.NOTE, f"you {verdict_words(e.kind, e.message, e.answers)} · {e.detail}")


def _granted(t: Transcript, e: ev.GrantUsed) -> None:
    t.add(e.at, EntryKind.NOTE, f"let through as you had allowed · {e.detail}")


def _rewound(t: Transcript, e: ev.FilesRewound) -> None:
    t.add(e.at, EntryKind.NOTE, rewound_words("files", e.to), "\n".join(e.files))


def _refused(t: Transcript, e: ev.LettersClosed) -> None:
    if e.refused:
        t.add(e.at, EntryKind.NOTE, f"not done: {e.says}", is_error=True)


def _over(t: Transcript, e: ev.StartedOver) -> None:
    t.add(e.at, EntryKind.NOTE, f"started over; snapshot {e.snapshot[:12]} holds the files of before")


_ENTRIES: dict[type[ev.Event], Callable[..., None]] = {
    ev.PromptStored: _prompt,
    ev.AgentSpoke: _spoke,
    ev.ToolCalled: _tool,
    ev.ToolReturned: _returned,
    ev.Noted: _note,
    ev.Retrying: _retrying,
    ev.TurnEnded: _turn,
    ev.AttemptEnded: _ended,
    ev.CostCorrected: _corrected,
    ev.Verified: _verified,
    ev.LettersClosed: _refused,
    ev.FilesRewound: _rewound,
    ev.StartedOver: _over,
    ev.AskAnswered: _asked,
    ev.GrantUsed: _granted,
}


def telling(errors: Iterable[str]) -> list[str]:
    """Return the errors of a turn that mean something to an operator, with sums of money as one reads them."""
    return [_LONG_SUM.sub(_rounded, error) for error in errors if not error.startswith(_DIAGNOSTIC)]


def _rounded(sum_: re.Match[str]) -> str:
    """Return a sum to a hundredth of a cent, and to the cent where that is the same."""
    whole, _, part = f"{float(sum_[1]):.4f}".partition(".")
    return f"${whole}.{part.rstrip('0'):0<2}"


def told(events: Iterable[ev.Event]) -> tuple[Entry, ...]:
    """Return what a transcript says of events, but for prompts: a session's own file holds those, and no results."""
    transcript = Transcript()
    for event in events:
        if not isinstance(event, ev.PromptStored):
            transcript.take(event)
    return transcript.since()

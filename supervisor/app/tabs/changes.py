"""The tab of changes: the files that differ from the base or from the last prompt, and how one of them differs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import anyio
from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Horizontal

from supervisor.app.fresh import Fresh
from supervisor.app.tabs.attempts import READING
from supervisor.app.tabs.tab import Tab
from supervisor.core.errors import SupervisorError
from supervisor.core.rewinds import prompt_words
from supervisor.engine.reader import BASE
from widgets.cells import Cell, Tone, drawable
from widgets.changed_files import ChangedFiles, total_words
from widgets.diff_pane import DiffPane
from widgets.diff_text import DiffText, parse
from widgets.words_line import WordsLine

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult
    from textual.widget import Widget

    from supervisor.app.ports import BatchPort
    from supervisor.core.changes import Changes, FileChange
    from supervisor.core.model import TicketSnapshot
    from supervisor.engine.reader import Reader
    from widgets.verb_footer import Hint

_KEPT = 8
"""Diffs that are kept at hand, so that going back to a file does not flicker."""
_NOTHING = DiffText()


@dataclass(frozen=True, slots=True)
class Compared:
    """What differs, and from what."""

    changes: Changes
    since: str
    """`BASE`, or a commit."""
    words: str
    """Safe to draw."""


async def since_base(reader: Reader, ticket: str) -> Compared:
    """Return what differs from the base."""
    return Compared(await reader.changes(ticket), BASE, "against the base")


async def since_prompt(reader: Reader, ticket: str) -> Compared:
    """Return what differs from how the files were at the last prompt. Raises SupervisorError if nobody knows that."""
    prompts = await reader.prompts(ticket)
    for number, prompt in reversed(list(enumerate(prompts, 1))):
        if prompt.snapshot:
            words = f'since prompt {number}, "{drawable(prompt_words(prompt.text))}"'
            return Compared(await reader.changes(ticket, prompt.snapshot), prompt.snapshot, words)
    raise SupervisorError("no snapshot was taken at a prompt yet: t goes back to the changes against the base")


async def diff_of(reader: Reader, ticket: str, change: FileChange, since: str) -> DiffText:
    """Return how one file differs."""
    text = await reader.diff(ticket, change.path, since, change.old_path)
    return await anyio.to_thread.run_sync(parse, text)


class ChangesTab(Tab):
    """Files on the left, the diff of the one under the cursor on the right."""

    NAME = "Changes"
    DEFAULT_CSS = """
    ChangesTab WordsLine { padding: 0 1; }
    ChangesTab Horizontal { height: 1fr; }
    ChangesTab ChangedFiles { width: 34%; min-width: 22; max-width: 60; }
    ChangesTab DiffPane { width: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "turn", "Against the base, or since the last prompt", show=False),
        Binding("space,pagedown,ctrl+d", "page(1)", "Page down", show=False),
        Binding("pageup,ctrl+u", "page(-1)", "Page up", show=False),
        Binding("J", "line(1)", "Line down", show=False),
        Binding("K", "line(-1)", "Line up", show=False),
        Binding("tab", "switch", "Go between files and diff", show=False),
        Binding("enter", "switch", "Go to the diff", show=False),
    ]

    def __init__(self, port: BatchPort, ticket: str, clock: Callable[[], float]) -> None:
        super().__init__()
        self._port, self._ticket, self._clock = port, ticket, clock
        self._is_since_prompt = False
        self._found: Fresh[Compared] = Fresh(port, lambda reader: since_base(reader, ticket))
        self._diff: Fresh[DiffText] = Fresh(port, lambda _: _no_file(), pace_s=0.0)
        self._of: object = None
        """The file whose diff is read, and from when."""
        self._kept: dict[str, DiffText] = {}
        self._head, self._files, self._pane = WordsLine(), ChangedFiles(), DiffPane()

    def compose(self) -> ComposeResult:
        """Lay out list and diff under the line that says what is compared."""
        yield self._head
        with Horizontal():
            yield self._files
            yield self._pane

    @property
    def count(self) -> str:
        """How many files differ."""
        found = self._found.value
        if found is None:
            return ""
        return f"{len(found.changes.files)}{'+' if found.changes.truncated else ''}"

    @property
    def has_news(self) -> bool:
        """Whether something was read."""
        return self._found.is_new or self._diff.is_new

    @property
    def target(self) -> Widget:
        """The list of files."""
        return self._files

    @property
    def hints(self) -> Sequence[Hint]:
        """How to go through the changes."""
        turn = "against base" if self._is_since_prompt else "since last prompt"
        return (("j k", "file"), ("space", "scroll"), ("t", turn))

    @property
    def _selected(self) -> FileChange | None:
        found, picked = self._found.value, self._files.picked
        files = found.changes.files if found is not None else ()
        return next((change for change in files if change.path == picked), None)

    # Drawing

    def show(self, ticket: TicketSnapshot, now: float) -> None:
        """Draw what was read, and have it read again if the ticket has moved since."""
        if ticket.worktree is not None:
            self._found.want((ticket.last_activity, ticket.worktree), now)
        if self._found.is_new:
            self._kept.clear()
        self._found.taken()
        found, fault = self._found.value, self._found.fault
        if found is None:
            words = "no working tree yet" if ticket.worktree is None else ""
            self._show_nothing(drawable(str(fault)) if fault is not None else words, is_bad=fault is not None)
            return
        self._head.show(((found.words, Tone.STRONG),), ((total_words(found.changes), Tone.MUTED),))
        more: Cell = (("… more files are not listed", Tone.FAINT),) if found.changes.truncated else ()
        trouble: Cell = ((drawable(str(fault)), Tone.BAD),) if fault is not None else ()
        self._files.show_files(found.changes.files, trouble or more)
        self._show_diff(now)

    def _show_nothing(self, words: str, *, is_bad: bool) -> None:
        self._head.show((("since the last prompt" if self._is_since_prompt else "against the base", Tone.STRONG),))
        self._files.show_files((), ((words, Tone.BAD if is_bad else Tone.MUTED),) if words else READING)
        self._pane.show(None, _NOTHING)

    def _show_diff(self, now: float) -> None:
        found, change = self._found.value, self._selected
        if found is None or change is None:
            self._pane.show(None, _NOTHING)
            return
        if (change.path, change.old_path, found.since) != self._of:
            self._of = (change.path, change.old_path, found.since)
            self._diff.forget(lambda reader: diff_of(reader, self._ticket, change, found.since))
        self._diff.want((self._found.version, change), now)
        if self._diff.is_new and self._diff.value is not None:
            self._keep(change.path, self._diff.value)
        self._diff.taken()
        held = self._diff.value or self._kept.get(change.path)
        fault = self._diff.fault
        notice: Cell = ((drawable(str(fault)), Tone.BAD),) if fault is not None else () if held else READING
        self._pane.show((change.path, found.since), held or _NOTHING, notice)

    def _keep(self, path: str, diff: DiffText) -> None:
        self._kept.pop(path, None)
        self._kept[path] = diff
        if len(self._kept) > _KEPT:
            del self._kept[next(iter(self._kept))]

    @on(ChangedFiles.Highlighted)
    def _file_changed(self, event: ChangedFiles.Highlighted) -> None:
        event.stop()
        self._show_diff(self._clock())

    # Keys

    def action_turn(self) -> None:
        """Compare with the other state."""
        self._is_since_prompt = not self._is_since_prompt
        read = since_prompt if self._is_since_prompt else since_base
        self._found.forget(lambda reader: read(reader, self._ticket))
        self._kept.clear()
        self._of = None
        self.show(self._port.board[self._ticket], self._clock())

    def action_page(self, by: int) -> None:
        """Scroll the diff by a page."""
        self._pane.action_scroll_pages(by)

    def action_line(self, by: int) -> None:
        """Scroll the diff by a line."""
        self._pane.scroll_lines(by)

    def action_switch(self) -> None:
        """Go to the other one of files and diff."""
        (self._pane if self._files.has_focus else self._files).focus()


async def _no_file() -> DiffText:
    return _NOTHING

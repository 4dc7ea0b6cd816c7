"""What two tickets changed, side by side: the files of both by path, and what each of them made of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Horizontal

from supervisor.app.fresh import Fresh
from supervisor.app.screens.live import LiveScreen
from supervisor.app.tabs.changes import diff_of, since_base
from widgets.cells import Cell, Piece, Tone, drawable
from widgets.changed_files import FileList, counts, sign, total_words
from widgets.diff_pane import DiffPane
from widgets.diff_text import DiffText, side_by_side
from widgets.formatting import money, state_tone, state_words
from widgets.pick_list import PickList
from widgets.record_table import Record, RecordColumn, RecordTable
from widgets.verb_footer import Hint, VerbFooter
from widgets.words_line import WordsLine

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from textual.app import ComposeResult

    from supervisor.app.ports import BatchPort
    from supervisor.app.tabs.changes import Compared
    from supervisor.core.changes import FileChange
    from supervisor.core.model import TicketSnapshot
    from supervisor.engine.reader import Reader

_NOTHING = DiffText()
_READING: Cell = (("reading …", Tone.MUTED),)
_HINTS: tuple[Hint, ...] = (("j k", "file"), ("space", "scroll"), ("← →", "sideways"))
_BACK: tuple[Hint, ...] = (("esc", "board"), ("?", "help"))


@dataclass(slots=True)
class _Side:
    """One of the two tickets."""

    ticket: str
    head: WordsLine
    pane: DiffPane
    found: Fresh[Compared]
    diff: Fresh[DiffText]
    of: object = None
    """The file whose diff is read, and how."""

    @property
    def files(self) -> dict[str, FileChange]:
        """What it changed, by path."""
        return {change.path: change for change in self.found.value.changes.files} if self.found.value else {}

    @property
    def fault(self) -> str:
        """Why something could not be read, safe to draw; empty if all was."""
        fault = self.found.fault or self.diff.fault
        return drawable(str(fault)) if fault is not None else ""


class CompareScreen(LiveScreen[None]):
    """Two diffs that scroll as one. Lines are not wrapped, so that those of the same number stay on the same row."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,d", "close", "Back", show=False),
        Binding("space,pagedown,ctrl+d", "page(1)", "Page down", show=False),
        Binding("pageup,ctrl+u", "page(-1)", "Page up", show=False),
        Binding("J", "line(1)", "Line down", show=False),
        Binding("K", "line(-1)", "Line up", show=False),
        Binding("right,l", "sideways(1)", "To the right", show=False),
        Binding("left,h", "sideways(-1)", "To the left", show=False),
    ]

    def __init__(self, port: BatchPort, clock: Callable[[], float], tickets: tuple[str, str]) -> None:
        """Prepare the screen; ``tickets`` stand left and right."""
        super().__init__()
        self.port, self._clock = port, clock
        self._sides = tuple(_side(port, ticket) for ticket in tickets)
        left, right = self._sides
        left.pane.twin, right.pane.twin = right.pane, left.pane
        names = [drawable(side.ticket) for side in self._sides]
        self.table = RecordTable(
            (
                RecordColumn("FILE", 0, grows=True),
                RecordColumn(names[0], 20, right=True),
                RecordColumn(names[1], 20, right=True),
            ),
            FileList(),
            id="compared",
        )
        self._paired: tuple[object, tuple[DiffText, DiffText]] | None = None
        self._footer = VerbFooter()

    def compose(self) -> ComposeResult:
        """Lay out the files, the two names, the two diffs and the keys."""
        yield self.table
        with Horizontal(id="names"):
            yield from (side.head for side in self._sides)
        with Horizontal(id="panes"):
            yield from (side.pane for side in self._sides)
        yield self._footer

    def on_mount(self) -> None:
        """Begin with the files."""
        self._footer.show(_HINTS, _BACK)
        self.show()
        self.table.list.focus()

    # Drawing

    @property
    def panes(self) -> tuple[DiffPane, ...]:
        """The two diffs, left and right."""
        return tuple(side.pane for side in self._sides)

    @property
    def has_news(self) -> bool:
        """Whether something was read."""
        return any(side.found.is_new or side.diff.is_new for side in self._sides)

    def show(self) -> None:
        """Draw what was read, and have it read again where a ticket has moved since."""
        now = self._clock()
        for side in self._sides:
            ticket = self.port.board[side.ticket]
            side.found.want(ticket.last_activity, now)
            side.found.taken()
            name: Piece = (drawable(side.ticket), Tone.STRONG)
            found = side.found.value
            words = side.fault or (total_words(found.changes) if found is not None else "reading …")
            side.head.show((name, (f"  {words}", Tone.BAD if side.fault else Tone.MUTED), *_facts(ticket)))
        self._show_files()
        self._show_file(now)

    def _show_files(self) -> None:
        both = [side.files for side in self._sides]
        paths = sorted(both[0].keys() | both[1].keys())
        is_read = all(side.found.is_read for side in self._sides)
        none: Cell = (("Neither of them changed anything.", Tone.MUTED),)
        notice = () if paths else none if is_read else _READING
        self.table.show([_record(path, [files.get(path) for files in both]) for path in paths], notice)

    def _show_file(self, now: float) -> None:
        path = self.table.picked
        for side in self._sides:
            change, found = side.files.get(path or ""), side.found.value
            of = (path, change and change.old_path, change is None)
            if of != side.of:
                side.of = of
                side.diff.forget(_reading(side, change))
            if path is not None and found is not None:
                side.diff.want((change, side.found.version), now)
            side.diff.taken()
        pair = self._pair()
        for side, text in zip(self._sides, pair, strict=True):
            change = side.files.get(path or "")
            missing: Cell = (("not changed here", Tone.MUTED),) if path is not None and change is None else ()
            is_open = path is not None and not side.diff.is_read and side.found.is_read
            side.pane.show(path, text, missing or (_READING if is_open else ()))

    def _pair(self) -> tuple[DiffText, DiffText]:
        """Return the two diffs with their lines next to each other."""
        texts = tuple(side.diff.value or _NOTHING for side in self._sides)
        if self._paired is None or self._paired[0] != texts:
            self._paired = (texts, side_by_side(texts[0], texts[1]))
        return self._paired[1]

    @on(PickList.Highlighted)
    def _file_changed(self, event: PickList.Highlighted) -> None:
        event.stop()
        self._show_file(self._clock())

    # Keys

    def action_close(self) -> None:
        """Go back to the board."""
        self.dismiss(None)

    def action_page(self, by: int) -> None:
        """Scroll both by a page."""
        self.panes[0].action_scroll_pages(by)

    def action_line(self, by: int) -> None:
        """Scroll both by a line."""
        self.panes[0].scroll_lines(by)

    def action_sideways(self, by: int) -> None:
        """Scroll both to the side."""
        self.panes[0].scroll_sideways(by)


def _facts(ticket: TicketSnapshot) -> Cell:
    """Return how a ticket stands, what it cost, and what it was to do."""
    words = f"  {money(ticket.so_far_usd, estimated=ticket.is_estimate)}  {drawable(ticket.title)}"
    return (f"  {state_words(ticket.state)}", state_tone(ticket.state)), (words, Tone.MUTED)


def _side(port: BatchPort, ticket: str) -> _Side:
    found: Fresh[Compared] = Fresh(port, lambda reader: since_base(reader, ticket))
    diff: Fresh[DiffText] = Fresh(port, _nothing, pace_s=0.0)
    return _Side(ticket, WordsLine(), DiffPane(wraps=False), found, diff)


def _reading(side: _Side, change: FileChange | None) -> Callable[[Reader], Awaitable[DiffText]]:
    if change is None or side.found.value is None:
        return _nothing
    since = side.found.value.since
    return lambda reader: diff_of(reader, side.ticket, change, since)


async def _nothing(_: Reader) -> DiffText:
    return _NOTHING


def _record(path: str, changes: list[FileChange | None]) -> Record:
    return Record(path, ((drawable(path), Tone.PLAIN), *(_amount(change) for change in changes)))


def _amount(change: FileChange | None) -> Piece:
    """Return what happened to a file, and how much of it, in one piece."""
    letter, tone = sign(change)
    if change is None:
        return letter, tone
    return f"{letter} {''.join(text for text, _ in counts(change))}".rstrip(), tone

"""The rewind dialog: prompts to go back to on the left, what a dry run says of the selected one on the right."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.widgets import Static

from supervisor.app.lookup import Lookup
from supervisor.app.orders import Order, whom
from supervisor.app.screens.dialog import VerbDialog, button, buttons, columns, frame, heading, keys, title
from supervisor.core.errors import SupervisorError
from supervisor.core.rewinds import Checkpoint, RewindPreview, Source
from supervisor.core.verbs import FORK, REWIND
from widgets.cells import Cell, Tone, drawable
from widgets.choice_bar import ChoiceBar
from widgets.lines_page import LinesPage
from widgets.pick_list import PickList, PickRow
from widgets.rewind_words import CHECKPOINTS, checkpoint_cell, preview_lines, source_words
from widgets.transcript_wrap import wrap

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult

    from supervisor.app.ports import BatchPort
    from supervisor.core.changes import Changes

_SOURCES = [(source.value, source_words(source)) for source in (Source.SNAPSHOT, Source.CHECKPOINT)]
_READING: Cell = (("reading …", Tone.MUTED),)


class RewindScreen(VerbDialog):
    """Takes files back to before a prompt. Nothing happens before its dry run has been read."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "source", "Source", show=False),
        Binding("f", "fork", "Conversation too", show=False),
        Binding("enter", "confirm", "Rewind", show=False),
    ]

    def __init__(
        self,
        port: BatchPort,
        tickets: Sequence[str],
        note: str = "",
        *,
        fork: Callable[[str, Checkpoint], None],
        at: str = "",
    ) -> None:
        """Prepare the dialog.

        Args:
            port: The batch.
            tickets: The ticket's id, alone.
            note: As for every dialog.
            fork: Opens the dialog for a fork from before a prompt.
            at: Uuid of the prompt to begin with; empty for the last one.
        """
        super().__init__(port, tickets, note)
        self._open_fork, self._at = fork, at
        self._points: tuple[Checkpoint, ...] = ()
        self._changed: dict[str, Changes] = {}
        self._list, self._page = PickList(id="points"), LinesPage(id="preview")
        self._source = ChoiceBar(_SOURCES, id="source")
        self._hint = Static("", classes="outcome", markup=False)
        self._read_points: Lookup[tuple[Checkpoint, ...]] = Lookup(port, self._points_came)
        self._read_changed: Lookup[dict[str, Changes]] = Lookup(port, self._changed_came)
        self._read_preview: Lookup[RewindPreview] = Lookup(port, self._preview_came)
        self._preview: RewindPreview | None = None
        """The dry run of `_asked`; None while it is read."""
        self._asked: tuple[str, str] | None = None
        """The prompt and the source that a dry run was last asked for."""

    def compose(self) -> ComposeResult:
        """Lay out list and dry run."""
        yield frame(
            title(f"Take the files of {whom(self.tickets)} back to before a prompt"),
            self._note,
            columns((heading(CHECKPOINTS), self._list), (self._source, self._page)),
            self._missing,
            self._hint,
            buttons(button("take back", "confirm"), button("conversation too: fork", "fork")),
            keys("enter  take back   s  source   f  fork   tab  scroll   esc  leave"),
            classes="-big",
        )

    def on_mount(self) -> None:
        """Look for prompts."""
        self._list.focus()
        self._list.show((), _READING)
        ticket = self.tickets[0]
        self._read_points.ask(lambda reader: reader.checkpoints(ticket))

    def on_unmount(self) -> None:
        """Want no answers any more."""
        for lookup in (self._read_points, self._read_changed, self._read_preview):
            lookup.drop()

    # What is read

    def _points_came(self, found: tuple[Checkpoint, ...] | SupervisorError) -> None:
        if isinstance(found, SupervisorError):
            self._list.show((), ((drawable(str(found)), Tone.BAD),))
            return
        self._points = found
        self._show_points()
        self._list.select(self._at)
        ticket = self.tickets[0]
        self._read_changed.ask(lambda reader: reader.changed_since(ticket, found))

    def _changed_came(self, found: dict[str, Changes] | SupervisorError) -> None:
        if not isinstance(found, SupervisorError):
            self._changed = found
            self._show_points()

    def _show_points(self) -> None:
        rows = [PickRow(point.uuid, checkpoint_cell(point, self._changed.get(point.uuid))) for point in self._points]
        self._list.show(rows, () if rows else (("nothing was said to the agent yet", Tone.MUTED),))

    def _preview_came(self, found: RewindPreview | SupervisorError) -> None:
        if isinstance(found, SupervisorError):
            self._say(str(found), Tone.BAD)
        else:
            self._preview = found
            self._page.show(lambda width: preview_lines(found, width))

    def _say(self, words: str, tone: Tone) -> None:
        self._page.show(lambda width: [((line, tone),) for line in wrap([drawable(words)], width)])

    # What is selected

    @property
    def _point(self) -> Checkpoint | None:
        picked = self._list.picked
        return next((point for point in self._points if point.uuid == picked), None)

    @on(PickList.Highlighted)
    @on(ChoiceBar.Changed)
    def _look(self) -> None:
        """Have the dry run of what is selected made."""
        point, source = self._point, Source(self._source.value)
        if point is None or self._asked == (point.uuid, source.value):
            return
        self.refuse("")
        self._preview, self._asked = None, (point.uuid, source.value)
        asks = "reading …" if source is Source.SNAPSHOT else "asking the session, which takes a moment …"
        self._say(asks, Tone.MUTED)
        where = f"Files as {drawable(point.to).removeprefix('how they were ')}"
        self._hint.update(f"{where}  {self._fork_words(point)}")
        ticket = self.tickets[0]
        self._read_preview.ask(lambda reader: reader.preview(ticket, point.uuid, source))

    def _fork_words(self, point: Checkpoint) -> str:
        if self._can_fork(point):
            return "The conversation goes on; f takes it back too, as a fork."
        return "The conversation goes on."

    def _can_fork(self, point: Checkpoint) -> bool:
        """Return whether the conversation in use knows the prompt, and something that was said before it."""
        ticket = self.targets[0]
        is_first = point is self._points[-1] and ticket.parent is None
        return point.in_session and not is_first and FORK.applies(ticket)

    # Keys

    def action_source(self) -> None:
        """Take the files from the other source."""
        self._source.action_turn(1)

    def action_fork(self) -> None:
        """Take the conversation back as well, as a fork from before the prompt."""
        point = self._point
        if point is None or not self._can_fork(point):
            self.refuse("the conversation in use holds nothing before that prompt: start over begins it anew")
            return
        self.dismiss()
        self._open_fork(self.tickets[0], point)

    @on(PickList.Opened)
    def _row_opened(self, event: PickList.Opened) -> None:
        """Two clicks take nothing back."""
        if not event.by_mouse:
            self.action_confirm()

    def action_confirm(self) -> None:
        """Take the files back as the dry run says."""
        self._look()  # a key may be faster than the news of the last one
        point, preview = self._point, self._preview
        if point is None:
            return
        if preview is None:
            self.refuse("there is no dry run of this" if not self._read_preview.is_open else "wait for the dry run")
        elif preview.refusal:
            self.refuse(preview.refusal)
        else:
            self.finish(Order(REWIND, self.tickets, {"to": point.uuid, "source": preview.source.value}))

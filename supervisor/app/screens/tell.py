"""The message dialog: a few lines at the bottom of the screen, and when they reach the agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.widgets import Static, TextArea

from supervisor.app.messages import fate, is_at_work
from supervisor.app.orders import Order, whom
from supervisor.app.screens.dialog import VerbDialog, button, buttons, frame, keys, title
from supervisor.core.starts import starts_when
from supervisor.core.verbs import MESSAGE
from widgets.words_area import WordsArea

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from supervisor.app.drafts import Drafts
    from supervisor.app.lookup import Lookup
    from supervisor.app.ports import BatchPort


class TellScreen(VerbDialog):
    """Takes a message. What is not sent stays a draft."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+n", "send_now", "Send now", show=False)]

    def __init__(
        self,
        port: BatchPort,
        tickets: Sequence[str],
        note: str = "",
        *,
        drafts: Drafts,
    ) -> None:
        """Prepare the dialog; ``drafts`` holds what was written before, and will hold what is not sent."""
        super().__init__(port, tickets, note)
        self._drafts = drafts
        self._reading: Lookup[str] | None = None
        self.area = WordsArea("", id="message")
        self._fate = Static("", markup=False)
        self._send = button("send  ctrl+s", "confirm")
        self._send_now = button("interrupt and send now  ctrl+n", "send_now")

    def compose(self) -> ComposeResult:
        """Say whom it is for and what becomes of it, and take the words."""
        yield frame(
            title(f"Message to {whom(self.tickets)}"),
            self._fate,
            self._note,
            self.area,
            self._missing,
            buttons(self._send, self._send_now),
            keys("enter  new line    tab  buttons    esc  keep as a draft"),
        )

    def on_mount(self) -> None:
        """Begin with the words that were written before, unless others are there by then."""
        self._reading = self._drafts.read(self.tickets, self._draft_came)
        self.area.focus()

    def on_unmount(self) -> None:
        """Want no draft any more."""
        if self._reading is not None:
            self._reading.drop()

    def _draft_came(self, text: str) -> None:
        if not self.area.text:
            self.area.text = text
            self.area.move_cursor(self.area.document.end)

    def show(self) -> None:
        """Say what becomes of it as things stand."""
        targets = self.targets
        busy = any(map(is_at_work, targets))
        self._fate.update(fate(targets, starts_when(self.port.board.announced)))
        self._send.label = f"{'send when the turn ends' if busy else 'send'}  ctrl+s"
        if self._send_now.has_focus and not busy:
            self._send.focus()
        self._send_now.display = busy

    @on(TextArea.Changed)
    def _changed(self) -> None:
        self.refuse("")

    def action_confirm(self) -> None:
        """Send it when the turn ends."""
        self._order(now=False)

    def action_send_now(self) -> None:
        """Interrupt the turn and send it, where there is one."""
        self._order(now=any(map(is_at_work, self.targets)))

    def _order(self, *, now: bool) -> None:
        self._keep()
        self.finish(Order(MESSAGE, self.tickets, {"text": self.area.text, "now": now}))

    def action_leave(self) -> None:
        """Leave, and keep what was written."""
        self._keep()
        self.dismiss()

    def _keep(self) -> None:
        self._drafts.keep(self.tickets, self.area.text)

"""What the screens need of the rest of the program. They know the engine by this protocol only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from supervisor.core.asks import AskAnswer
    from supervisor.core.board import Board
    from supervisor.core.errors import SupervisorError
    from supervisor.engine.desk import Ruling
    from supervisor.engine.reader import Reader

T = TypeVar("T")


class BatchPort(Protocol):
    """A running batch, as the screens see it. All methods return at once and are called on the app's loop."""

    @property
    def board(self) -> Board:
        """The projection that the screens draw."""

    def submit(self, verb: str, tickets: Sequence[str], told: Mapping[str, Any] | None = None) -> None:
        """Take a verb for some tickets. The pending mark is on the board on return; the answer comes as an event.

        Args:
            verb: The verb's name.
            tickets: Whom it is for; those that it does not apply to are left alone.
            told: What it is told, as ``core.verb_args`` takes it.
        """

    def look(self, work: Callable[[Reader], Awaitable[T]], answered: Callable[[T | SupervisorError], None]) -> None:
        """Look something up that is not on the board.

        Args:
            work: What to ask the reader, such as ``lambda reader: reader.attempts("001")``.
            answered: Called on the app's loop with what was found, or with why it could not be.
        """

    def set_slots(self, slots: int) -> None:
        """Run so many tickets at the same time from now on."""

    def pause_starting(self, on: bool) -> None:
        """Start no further ticket, or go on with starting; what runs goes on either way. Outlives a restart."""

    def remember(self, name: str, value: str) -> None:
        """Keep a setting of the batch, for ``reader.setting`` to find, also after a restart."""

    def rule(self, ruling: Ruling, answered: Callable[[str | None], None], *, once_more: bool = False) -> None:
        """Carry out a decision about an effect, and say later how that went.

        Args:
            ruling: The decision, with the version that was on the screen.
            answered: Called on the app's loop: with None when it is done, else with why it was refused.
            once_more: Decide that it did not happen, if that is open, and let it run again.
        """

    def answer(self, answer: AskAnswer, answered: Callable[[str | None], None]) -> None:
        """Answer what an agent asks; ``answered`` as in `rule`. The board's ``asks`` show what became of it."""

    def probe(self, key: str, answered: Callable[[str | None], None]) -> None:
        """Ask the other system about an effect; ``answered`` as in `rule`. What is found comes to the board."""

    def request_stop(self) -> None:
        """Interrupt everything and let it rest; whoever runs the app calls its ``finish`` when that is done."""

    def kill(self) -> None:
        """Stop without waiting any longer; what was under way is settled at the next start."""

"""What the screens need of the rest of the program. They know the engine by this protocol only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from supervisor.core.board import Board
    from supervisor.engine.desk import Ruling


class BatchPort(Protocol):
    """A running batch, as the screens see it. All methods return at once and are called on the app's loop."""

    @property
    def board(self) -> Board:
        """The projection that the screens draw."""

    def submit(self, verb: str, tickets: Sequence[str]) -> None:
        """Take a verb for some tickets. The pending mark is on the board on return; the answer comes as an event."""

    def rule(self, ruling: Ruling, answered: Callable[[str | None], None], *, once_more: bool = False) -> None:
        """Carry out a decision about an effect, and say later how that went.

        Args:
            ruling: The decision, with the version that was on the screen.
            answered: Called on the app's loop: with None when it is done, else with why it was refused.
            once_more: Decide that it did not happen, if that is open, and let it run again.
        """

    def probe(self, key: str, answered: Callable[[str | None], None]) -> None:
        """Ask the other system about an effect; ``answered`` as in `rule`. What is found comes to the board."""

    def request_stop(self) -> None:
        """Interrupt everything and let it rest; whoever runs the app calls its ``finish`` when that is done."""

    def kill(self) -> None:
        """Stop without waiting any longer; what was under way is settled at the next start."""

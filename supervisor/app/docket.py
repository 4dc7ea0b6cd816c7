"""Decisions and answers on their way to the engine, and what came back.

It outlives the screens: no refusal goes unseen, and no draft is lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from supervisor.core.asks import AskAnswer
from widgets.items import ask_key, effect_key

if TYPE_CHECKING:
    from supervisor.app.ports import BatchPort
    from supervisor.core.asks import Ask
    from supervisor.engine.desk import Ruling
    from widgets.ask_draft import Draft


@dataclass(frozen=True, slots=True)
class Refusal:
    """A decision or an answer that was not carried out."""

    key: str
    text: str
    """For the operator; untrusted."""
    sent: Ruling | AskAnswer | None = None
    """What was asked; None for a probe."""


class Docket:
    """Sends what the operator decides. Answers may come from any task of the loop, so they only leave a mark.

    Keys are those of the lines in the inbox: see ``widgets.items``.
    """

    def __init__(self, port: BatchPort) -> None:
        self._port = port
        self.version = 0
        """Rises with everything that is sent or answered."""
        self.pending: dict[str, str] = {}
        """By key the label of what was asked."""
        self.drafts: dict[str, Draft] = {}
        """By an ask's id what is chosen of its questions and not sent yet."""
        self._refusals: dict[str, Refusal] = {}
        self._untold: list[Refusal] = []

    def rule(self, ruling: Ruling, label: str, *, once_more: bool = False) -> None:
        """Send a decision about an effect; it is pending on return."""
        key = effect_key(ruling.key)
        self._begin(key, label)
        self._port.rule(ruling, lambda text: self._answered(key, text, ruling), once_more=once_more)

    def probe(self, name: str, label: str) -> None:
        """Have the other system asked about an effect; it is pending on return."""
        key = effect_key(name)
        self._begin(key, label)
        self._port.probe(name, lambda text: self._answered(key, text, None))

    def answer(self, answer: AskAnswer, label: str) -> None:
        """Send an answer to an ask; it is pending on return."""
        key = ask_key(answer.ask_id)
        self._begin(key, label)
        self._port.answer(answer, lambda text: self._answered(key, text, answer))

    def draft(self, ask: Ask, draft: Draft) -> None:
        """Keep what is chosen of an ask's questions."""
        self.drafts[ask.id] = draft
        self.version += 1

    def refusal(self, key: str) -> Refusal | None:
        """Return why the last decision about something was refused; None after a newer one, or `forget`."""
        return self._refusals.get(key)

    def forget(self, key: str) -> None:
        """Drop a refusal that was read."""
        self._refusals.pop(key, None)

    def untold(self) -> list[Refusal]:
        """Return the refusals since the last call."""
        told, self._untold = self._untold, []
        return told

    def _begin(self, key: str, label: str) -> None:
        self.forget(key)
        self.pending[key] = label
        self.version += 1

    def _answered(self, key: str, text: str | None, sent: Ruling | AskAnswer | None) -> None:
        self.pending.pop(key, None)
        if text is not None:
            self._refusals[key] = Refusal(key, text, sent)
            self._untold.append(self._refusals[key])
        elif isinstance(sent, AskAnswer):
            self.drafts.pop(sent.ask_id, None)
        self.version += 1

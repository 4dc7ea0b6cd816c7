"""The inbox's keys for asks: an answer at once, one with words, or questions step by step."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from supervisor.app.ask_answers import (
    Reply,
    Words,
    answer_of,
    answer_of_draft,
    draft_of,
    misfit,
    reply_for,
    title,
    why_not,
)
from supervisor.app.screens.reply import ReplyScreen
from supervisor.core.asks import AskAnswer
from widgets.ask_words import gist
from widgets.cells import drawable
from widgets.items import ask_key

if TYPE_CHECKING:
    from supervisor.app.screens.items import ItemsScreen
    from supervisor.core.asks import Ask
    from widgets.ask_draft import Draft

_ON_ITS_WAY = "the last answer is on its way"
_CHOOSE = "choose an option by its digit, or press o for your own words"


class AskKeys:
    """Answers asks for a screen."""

    def __init__(self, screen: ItemsScreen) -> None:
        self._screen = screen
        self._docket = screen.docket

    def draft(self, ask: Ask) -> Draft | None:
        """Return what is chosen so far of an ask's questions; None where there are none to answer."""
        return draft_of(ask, self._docket.drafts)

    def press(self, ask: Ask, key: str) -> None:
        """Answer, choose an option, or say why the key does neither."""
        reply, draft = reply_for(key, ask), self.draft(ask)
        if self._is_pending(ask):
            return
        if reply is not None:
            self._reply(ask, reply)
        elif draft is not None and key.isdigit():
            self._choose(ask, draft, int(key))
        else:
            self._screen.refuse(misfit(key, ask))

    def write(self, ask: Ask) -> None:
        """Take the operator's own words as the answer to a question."""
        draft = self.draft(ask)
        if draft is None:
            self._screen.refuse(misfit("o", ask))
        elif not self._is_pending(ask):
            question = draft.question
            about = drawable(question.text) or gist(ask)
            screen = ReplyScreen(
                f"In your own words: question of {drawable(ask.ticket)}",
                about,
                "answer; nothing takes it back",
                "take it",
                words=draft.choice.words,
            )
            self._screen.app.push_screen(screen, partial(self._written, ask, draft.place))

    def step(self, ask: Ask) -> None:
        """Go on to the next question that has no answer; send them all where there is none."""
        draft = self.draft(ask)
        if draft is None or self._is_pending(ask):
            return
        if not draft.choice.is_made:
            self._screen.refuse(_CHOOSE)
            return
        open_ = next((place for place, choice in enumerate(draft.choices) if not choice.is_made), None)
        if not draft.is_last:
            self._keep(ask, draft.go(1))
        elif open_ is not None:
            self._keep(ask, draft.go(open_ - draft.place))
        else:
            self._send(ask, answer_of_draft(draft, ask), "send")

    def back(self, ask: Ask) -> None:
        """Go back to the question before."""
        draft = self.draft(ask)
        if draft is not None and not self._is_pending(ask):
            self._keep(ask, draft.go(-1))

    def _is_pending(self, ask: Ask) -> bool:
        if ask_key(ask.id) not in self._docket.pending:
            return False
        self._screen.refuse(_ON_ITS_WAY)
        return True

    def _choose(self, ask: Ask, draft: Draft, number: int) -> None:
        chosen = draft.choose(number)
        if chosen is draft:
            self._screen.refuse(f"there is no option {number}")
        else:
            self._keep(ask, chosen)

    def _written(self, ask: Ask, place: int, words: str | None) -> None:
        draft = self.draft(ask)
        if draft is not None and words is not None:
            here = draft.go(place - draft.place)
            self._keep(ask, here.write(words))

    def _keep(self, ask: Ask, draft: Draft) -> None:
        self._docket.draft(ask, draft)
        self._screen.show()

    def _reply(self, ask: Ask, reply: Reply) -> None:
        refusal = why_not(answer_of(reply, ask), ask)
        if refusal is not None:
            self._screen.refuse(refusal)
        elif reply.words is Words.NONE:
            self._send(ask, answer_of(reply, ask), reply.label)
        else:
            must = reply.words is Words.MUST
            screen = ReplyScreen(
                title(reply, ask), gist(ask), reply.prompt, reply.label, words=self._said(ask), must=must
            )
            self._screen.app.push_screen(screen, partial(self._replied, ask, reply))

    def _said(self, ask: Ask) -> str:
        """Return the words of an answer that was refused, so that they are not lost."""
        refusal = self._docket.refusal(ask_key(ask.id))
        sent = refusal.sent if refusal is not None else None
        return sent.message if isinstance(sent, AskAnswer) else ""

    def _replied(self, ask: Ask, reply: Reply, words: str | None) -> None:
        if words is not None:
            self._send(ask, answer_of(reply, ask, words), reply.label)

    def _send(self, ask: Ask, answer: AskAnswer, label: str) -> None:
        self._docket.answer(answer, label)
        self._screen.show()

"""What the operator has chosen so far of an agent's questions, before it is sent. Pure; replaced, never changed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from supervisor.core.asks import Question

MOST_DIGITS = 9
"""Options that a digit stands for; what comes after them can only be typed."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The answer to one question as far as it goes."""

    options: tuple[int, ...] = ()
    """Places of the options that are chosen, in their order."""
    words: str = ""
    """The operator's own; to a question that takes one answer they are the answer."""

    @property
    def is_made(self) -> bool:
        """Whether there is anything to send."""
        return bool(self.options or self.words)


@dataclass(frozen=True, slots=True)
class Draft:
    """Answers to the questions of one ask, and the question that is being answered."""

    questions: tuple[Question, ...]
    choices: tuple[Choice, ...]
    place: int = 0

    @classmethod
    def of(cls, questions: tuple[Question, ...]) -> Draft:
        """Return the draft in which nothing is chosen yet."""
        return cls(questions, tuple(Choice() for _ in questions))

    @property
    def question(self) -> Question:
        """The question that is being answered. There is at least one question."""
        return self.questions[self.place]

    @property
    def choice(self) -> Choice:
        """What is chosen of it."""
        return self.choices[self.place]

    @property
    def is_last(self) -> bool:
        """Whether no question comes after it."""
        return self.place == len(self.questions) - 1

    def choose(self, number: int) -> Draft:
        """Choose the option with this number, from 1; where several may be chosen, take it back if it was chosen.

        Numbers that no option has change nothing.
        """
        option, question = number - 1, self.question
        if not 0 <= option < min(len(question.options), MOST_DIGITS):
            return self
        if not question.multiple:
            return self._with(Choice((option,)))
        chosen = set(self.choice.options) ^ {option}
        return self._with(replace(self.choice, options=tuple(sorted(chosen))))

    def write(self, words: str) -> Draft:
        """Answer in the operator's own words; empty ones take them back."""
        options = self.choice.options if self.question.multiple or not words else ()
        return self._with(Choice(options, words))

    def go(self, by: int) -> Draft:
        """Go to another question, and no further than the first and the last."""
        return replace(self, place=max(0, min(self.place + by, len(self.questions) - 1)))

    def replies(self) -> dict[str, str | list[str]]:
        """Return what is chosen by the numbers of the questions, from 1, as ``AskAnswer.answers`` takes it."""
        made = enumerate(zip(self.questions, self.choices, strict=True), 1)
        return {str(number): _reply(question, choice) for number, (question, choice) in made if choice.is_made}

    def _with(self, choice: Choice) -> Draft:
        choices = (*self.choices[: self.place], choice, *self.choices[self.place + 1 :])
        return replace(self, choices=choices)


def _reply(question: Question, choice: Choice) -> str | list[str]:
    labels = [question.options[place].label for place in choice.options]
    said = [*labels, choice.words] if choice.words else labels
    return said if question.multiple else said[0]

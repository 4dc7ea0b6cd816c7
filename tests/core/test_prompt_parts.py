"""A prompt is taken apart as it was put together: no word of the supervisor's stands among the operator's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from supervisor.core import ask_news, prompts
from supervisor.core.asks import AnswerKind, Ask, AskKind
from supervisor.core.model import PromptKind
from supervisor.core.prompt_parts import parted
from supervisor.core.spec import TicketSpec

WORDS = "hello\n\n---\n\nMine: the operator's own rule.\n\n---\n"
TICKET = TicketSpec("001", title="t", prompt=WORDS, rules="Be kind.")
WHENCE = prompts.Whence("001", "/p", "/c", "as they were")
EFFECTS = ("deploy: done",)
ASK = Ask("a", "001", 1, AskKind.PERMISSION, "Bash", 0.0, "ls", rules=("Bash(ls *)",))


def answers() -> list[str]:
    """What the agent is told of each answer that there is."""
    asks = [replace(ASK, kind=kind, answer=answer) for kind in AskKind for answer in AnswerKind]
    return [ask_news.told(replace(ask, message=message)) for ask in asks for message in ("", "So be it.")]


NEWS = [
    *answers(),
    prompts.rewound("how they were before prompt 1", ("a.py",)),
    prompts.rewound("how they were before prompt 1", ()),
    prompts.lost_effect('effect "deploy" was not run: the disk is full'),
]


def said(**more: object) -> str:
    return prompts.message(WORDS, TICKET, **{"changed": False, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        said(cut_off="the operator interrupted it"),
        said(cut_off="the agent's process died", changed=True, effects=EFFECTS, news=(NEWS[0],)),
        said(changed=True),
        said(effects=EFFECTS),
        *(said(news=(news,)) for news in NEWS),
    ],
)
def test_a_message_is_what_the_operator_wrote(text: str) -> None:
    words, added = parted(text, PromptKind.MESSAGE)
    assert words == WORDS
    assert added
    assert text == f"{words}\n\n---\n\n{added}"
    assert parted(text, None) == (words, added)


def test_a_message_that_is_said_again_is_still_only_what_the_operator_wrote() -> None:
    again = prompts.message(said(cut_off="the supervisor was stopped"), TICKET, changed=True)
    assert parted(again, PromptKind.MESSAGE)[0] == WORDS


@pytest.mark.parametrize(
    "text",
    [
        prompts.fallback(TICKET, prompts.Facts(changes="a.py | 1 +")),
        prompts.started_over(TICKET, EFFECTS),
        prompts.forked(TICKET, WHENCE, EFFECTS),
        prompts.alone(TICKET, "001", "Do it."),
        prompts.fallback(replace(TICKET, prompt=prompts.alone(TICKET, "001", "Do it.")), prompts.Facts(("lost",))),
    ],
)
def test_a_task_is_what_the_file_says(text: str) -> None:
    words, added = parted(text, PromptKind.TASK)
    assert words == WORDS
    assert added


@pytest.mark.parametrize(
    "text", ["", "hello", WORDS, "---", "a\n\n---\n\nb", "---\n\nThe previous turn was cut off: x"]
)
def test_what_has_no_addition_is_left_whole(text: str) -> None:
    assert parted(text, PromptKind.MESSAGE) == (text, "")


def test_what_nobody_else_wrote_is_not_taken_apart() -> None:
    text = "The check failed.\n\n---\n\nThe previous turn was cut off: x"
    assert parted(text, PromptKind.VERIFY) == (text, "")
    assert parted(text, PromptKind.CONTINUE) == (text, "")

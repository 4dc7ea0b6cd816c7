"""The rules of asks: which answers fit, what they come to, and what an agent is told of those it did not hear."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from supervisor.core import events as ev
from supervisor.core.ask_fold import AskBook, AskEvent, fold_ask
from supervisor.core.ask_news import known, told
from supervisor.core.asks import (
    AnswerKind,
    Ask,
    AskAnswer,
    AskKind,
    AskState,
    completed,
    fingerprint_of,
    offered,
    questions,
    refusal,
    says,
)
from supervisor.core.board import Board
from supervisor.core.model import State, TicketSnapshot, Why

ALLOW, SESSION, DENY, STOP, REPLY = AnswerKind
TOOL = Ask("a1", "001", 1, AskKind.PERMISSION, "Bash", 1.0, "rm -r build", rules=("Bash(rm *)",))
PLAN = Ask("a2", "001", 1, AskKind.PLAN, "ExitPlanMode", 2.0, "Do it")
INPUT = {
    "questions": [
        {"question": "Which?", "header": "One", "options": [{"label": "This", "description": "it"}, "That", 7]},
        {"question": "What else?", "options": "none", "multiSelect": True},
        "nonsense",
    ]
}
QUESTION = Ask("a3", "001", 1, AskKind.QUESTION, "AskUserQuestion", 3.0, "Which?", INPUT)
ONE = replace(QUESTION, input={"questions": [{"question": "Which?"}]})


def _refused(ask: Ask, kind: AnswerKind, **more: Any) -> str | None:
    return refusal(ask, AskAnswer(ask.id, kind, **more))


def _answered(
    ask: Ask, kind: AnswerKind, message: str = "", answers: dict[str, Any] | None = None, *, rested: bool = True
) -> Ask:
    event = ev.AskAnswered("001", 9.0, ask.id, kind, ask.detail, message, answers or {}, "me", rested)
    found = fold_ask(ask, event)
    assert found is not None
    return found


def test_what_each_kind_of_ask_takes() -> None:
    assert offered(TOOL) == (ALLOW, SESSION, DENY, STOP)
    assert offered(replace(TOOL, rules=())) == (ALLOW, DENY, STOP)
    assert offered(PLAN) == (ALLOW, SESSION, DENY, STOP)
    assert offered(QUESTION) == (REPLY, DENY, STOP)
    assert offered(replace(TOOL, state=AskState.RESTING)) == offered(TOOL)
    assert offered(replace(TOOL, state=AskState.WITHDRAWN)) == ()
    for ask in (TOOL, PLAN, ONE):
        for kind in AnswerKind:
            assert (_refused(ask, kind, message="This") is None) is (kind in offered(ask))


@pytest.mark.parametrize(
    ("ask", "kind", "more", "words"),
    [
        (TOOL, REPLY, {}, "a permission takes allow or deny, not a reply"),
        (PLAN, REPLY, {}, "a plan takes allow or deny, not a reply"),
        (QUESTION, ALLOW, {}, "a question takes a reply, or deny"),
        (replace(TOOL, rules=()), SESSION, {}, "the agent suggests no rule that could be allowed for the session"),
        (QUESTION, REPLY, {}, "the reply is empty"),
        (QUESTION, REPLY, {"message": "with two questions"}, "the reply is empty"),
        (ONE, REPLY, {"message": " \n"}, "the reply is empty"),
        (QUESTION, REPLY, {"answers": {"1": [" "], "What else?": []}}, "the reply is empty"),
        (QUESTION, REPLY, {"answers": {"3": "x"}}, 'there is no question "3"'),
        (QUESTION, REPLY, {"answers": {"Which? ": "x"}}, 'there is no question "Which? "'),
        (TOOL, DENY, {"message": "x" * 20_001}, "the message is longer than 20000 characters"),
        (TOOL, ALLOW, {"seen_version": 2}, "it has changed since it was shown"),
        (replace(TOOL, state=AskState.WITHDRAWN), ALLOW, {}, "the agent does not wait for this any more"),
    ],
)
def test_an_answer_that_does_not_fit(ask: Ask, kind: AnswerKind, more: dict[str, Any], words: str) -> None:
    found = _refused(ask, kind, **more)
    assert found is not None
    assert found.startswith(words)


def test_what_was_answered_is_told_to_who_comes_too_late() -> None:
    for kind, words in {ALLOW: "allowed", SESSION: "allowed for the session", STOP: "denied and stopped"}.items():
        assert _refused(_answered(TOOL, kind), DENY, seen_version=1) == f"it was answered already: {words}"
    assert says(_answered(TOOL, DENY, "not now")) == "denied: not now"
    assert says(_answered(QUESTION, REPLY, answers={"one": "This", "two": ["a", "b"]})) == "replied: This; a, b"
    assert says(TOOL) == ""


def test_replies_are_given_by_text_or_number() -> None:
    given = AskAnswer("a3", REPLY, answers={"1": "That", "What else?": ["a", "b"]})
    assert _refused(QUESTION, REPLY, answers=given.answers) is None
    assert completed(QUESTION, given).answers == {"Which?": "That", "What else?": ["a", "b"]}
    assert completed(QUESTION, replace(given, answers={"1": "That", "2": ""})).answers == {"Which?": "That"}
    assert completed(ONE, AskAnswer("a3", REPLY, "My own words")).answers == {"Which?": "My own words"}
    assert completed(TOOL, AskAnswer("a1", DENY, answers={"1": "x"})).answers == {}


def test_questions_are_read_as_far_as_they_make_sense() -> None:
    first, second = questions(QUESTION)
    assert (first.text, first.header, first.multiple) == ("Which?", "One", False)
    assert [(o.label, o.description) for o in first.options] == [("This", "it"), ("That", "")]
    assert (second.options, second.multiple) == ((), True)
    for odd in ({}, {"questions": None}, {"questions": {"question": "x"}}, {"questions": [1, None]}):
        assert questions(replace(QUESTION, input=odd)) == ()


def test_a_fingerprint_is_the_tools_and_the_inputs() -> None:
    same = fingerprint_of("Bash", {"command": "ls", "timeout": 1})
    assert same == fingerprint_of("Bash", {"timeout": 1.0, "command": "ls"})
    others: list[tuple[str, dict[str, Any]]] = [
        ("Bash", {"command": "ls"}),
        ("Read", {"command": "ls", "timeout": 1}),
        ("Bash", {"command": "ls "}),
    ]
    assert same not in {fingerprint_of(tool, given) for tool, given in others}
    assert fingerprint_of("x", {"a": float("nan")}) == fingerprint_of("x", {"a": float("nan")})
    assert fingerprint_of("x", {"a": "\ud83d"})


def test_what_a_ticket_says_that_waits() -> None:
    assert (TOOL.detail, TOOL.why) == ("Bash rm -r build", Why.APPROVE_TOOL)
    assert (QUESTION.detail, QUESTION.why) == ("Which?", Why.QUESTION)
    assert (PLAN.detail, PLAN.why) == ("plan: Do it", Why.QUESTION)
    assert replace(QUESTION, summary="").detail == "AskUserQuestion"
    assert len(replace(TOOL, summary="x" * 1000).detail) == 200


def test_only_what_nobody_heard_is_granted_and_only_once() -> None:
    for kind in AnswerKind:
        assert _answered(TOOL, kind).granted is (kind in (ALLOW, SESSION, REPLY))
        assert not _answered(TOOL, kind, rested=False).granted
    granted = _answered(TOOL, ALLOW)
    used = fold_ask(granted, ev.GrantUsed("001", 10.0, "a1", "Bash"))
    assert used is not None
    assert (used.granted, used.version) == (False, 3)
    assert fold_ask(used, ev.GrantUsed("001", 11.0, "a1", "Bash")) is used


def test_what_is_over_stays_as_it_is() -> None:
    later: list[AskEvent] = [
        ev.AskRested("001", 9.0, "a1"),
        ev.AskWithdrawn("001", 9.0, "a1"),
        ev.AskAnswered("001", 9.0, "a1", DENY, ""),
        ev.GrantUsed("001", 9.0, "a1", ""),
    ]
    for over in (_answered(TOOL, DENY), replace(TOOL, state=AskState.WITHDRAWN)):
        assert [fold_ask(over, event) for event in later] == [over] * 4
    assert [fold_ask(None, event) for event in later] == [None] * 4


def _opened(ident: str, at: float, ticket: str = "001") -> ev.AskOpened:
    return ev.AskOpened(ticket, at, ident, 1, AskKind.PERMISSION, "Bash", "f", ident)


def test_the_board_shows_what_waits_first_and_forgets_what_is_over_for_long() -> None:
    board = Board()
    for n in range(300):
        board.apply(_opened(f"a{n:03}", float(n)))
    before = board.asks_version
    for n in range(290):
        board.apply(ev.AskAnswered("001", 500.0, f"a{n:03}", ALLOW, "", rested=n < 2))
    assert board.asks_version > before
    shown = board.asks()
    assert [a.id for a in shown[:10]] == [f"a{n}" for n in range(290, 300)]
    assert board.ask("a000") is not None, "a grant is kept as long as it can be used"
    assert board.ask("a002") is None
    assert len(shown) == 10 + 2 + 200


def test_a_ticket_goes_back_to_work_when_its_last_ask_is_over() -> None:
    board = Board()
    board.restore([TicketSnapshot("001", state=State.RUNNING, live=True, created=1.0)])
    board.apply(_opened("a1", 1.0))
    board.apply(_opened("a2", 2.0))
    assert (board["001"].state, board["001"].detail, board["001"].asks) == (State.NEEDS_YOU, "Bash a1", 2)
    board.apply(ev.AskAnswered("001", 3.0, "a1", ALLOW, "Bash a1"))
    assert board["001"].state is State.NEEDS_YOU
    board.apply(ev.AskWithdrawn("001", 4.0, "a2"))
    assert (board["001"].state, board["001"].live, board["001"].asks) == (State.RUNNING, True, 0)
    assert board.transcript("001").since()[-1].text == "you allowed · Bash a1"


def test_a_book_follows_one_ticket_only() -> None:
    book = AskBook()
    book.restore([TOOL, replace(TOOL, id="b1", ticket="002")])
    cancelled = TicketSnapshot("001", state=State.CANCELLED)
    book.take(ev.StateChanged("001", 5.0, State.CANCELLED), cancelled)
    assert {a.id: a.state for a in book.all()} == {"a1": AskState.WITHDRAWN, "b1": AskState.OPEN}


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (_answered(TOOL, ALLOW), "allowed your call of Bash rm -r build, once. It has not run yet"),
        (_answered(TOOL, ALLOW, "Mind it."), "let through.\nThey wrote: Mind it."),
        (_answered(TOOL, SESSION), "and the like: Bash(rm *). Call it again."),
        (_answered(TOOL, DENY), "The operator denied your call of Bash rm -r build. Go on without it."),
        (_answered(TOOL, STOP, "Wait."), "The operator denied your call of Bash rm -r build: Wait."),
        (_answered(PLAN, ALLOW), "approved your plan, and plan mode is over: carry it out."),
        (_answered(PLAN, DENY, "Tests?"), "does not approve your plan: Tests?"),
        (_answered(ONE, REPLY, answers={"Which?": "This"}), "do not ask them again:\n- Which? This"),
        (_answered(ONE, DENY), "The operator does not answer your questions. Go on without it."),
    ],
)
def test_what_an_agent_is_told_that_was_resting(ask: Ask, words: str) -> None:
    assert words in told(ask)


def test_an_agent_that_knows_nothing_is_told_what_still_holds() -> None:
    spent = replace(_answered(TOOL, ALLOW), granted=False)
    granted, denied, open_ = _answered(TOOL, ALLOW), _answered(TOOL, DENY), TOOL
    assert known([spent, open_, granted, denied]) == (told(granted), told(denied))
    assert len(known([denied] * 50)) == 20

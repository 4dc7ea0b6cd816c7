"""Lines of asks: whole, to the letter, and never wider than their card; drafts of answers; what stopped tickets say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from supervisor.core import events as ev
from supervisor.core.asks import Ask, AskKind, Option, Question, questions
from supervisor.core.model import Mode, Outcome, State, TicketSnapshot, Why
from tests.screens.ask_scenes import PLAN_TEXT, TOPICS
from tests.screens.scenes import HOSTILE, NOW
from widgets.ask_draft import Draft
from widgets.ask_layout import ask_lines, verbatim
from widgets.cells import joined, width_of
from widgets.items import INBOX, arrange, ask_item, header, line
from widgets.ticket_layout import Past, remedies, ticket_lines

if TYPE_CHECKING:
    from widgets.cells import Cell

P, Q, N = AskKind.PERMISSION, AskKind.QUESTION, AskKind.PLAN
ONE = Question("Which?", "W", (Option("a"), Option("b")))
ANY = Question("What else?", "E", (Option("x"), Option("y"), Option("z")), multiple=True)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30) | st.sampled_from(HOSTILE),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
names = st.sampled_from(
    ["command", "file_path", "old_string", "new_string", "content", "edits", "questions", "plan", "x"]
)


def made(kind: AskKind = P, tool: str = "Bash", **given_: Any) -> Ask:
    """Return an ask for a call with this input."""
    return Ask("a", "001", 1, kind, tool, NOW - 60, input=given_, rules=("Bash(x:*)",))


def text(lines: list[Cell]) -> str:
    return "\n".join(map(joined, lines))


@given(
    st.sampled_from(AskKind),
    st.sampled_from(["Bash", "Edit", "MultiEdit", "Write", "mcp__x"]),
    st.dictionaries(names, json_values, max_size=5),
    st.integers(8, 120),
)
@settings(max_examples=200)
def test_no_line_is_wider_than_its_card_whatever_is_asked(
    kind: AskKind, tool: str, given_: dict[str, Any], width: int
) -> None:
    assert all(width_of(cell) <= width for cell in ask_lines(made(kind, tool, **given_), NOW, width))


@pytest.mark.parametrize("words", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("width", [8, 40, 80])
def test_hostile_words_stay_in_their_lines(words: str, width: int) -> None:
    asked = {"question": words, "header": words, "options": [{"label": words, "description": words}, words]}
    for ask in (
        made(command=words, description=words),
        made(tool="Edit", file_path=words, old_string=words, new_string=f"{words}+"),
        made(Q, "AskUserQuestion", questions=[asked, asked]),
        made(N, "ExitPlanMode", plan=words),
    ):
        for cell in ask_lines(ask, NOW, width):
            assert width_of(cell) <= width
            assert not set(joined(cell)) & set("\x1b\x07\x00\x9b\u202e\u2066\ud83d\r\t\n")
        item = ask_item(ask)
        cells = arrange(INBOX, [item], NOW, max(60, width))
        assert width_of(line(item, INBOX, cells, NOW)) == width_of((header(INBOX, cells),))


# Whole and to the letter


def test_rows_of_one_line_are_told_from_lines() -> None:
    assert [joined(row) for row in verbatim("echo one two\n  x", 10)] == ["│ echo one", "┊ two", "│   x"]


def test_nothing_of_a_command_is_left_out() -> None:
    command = "\n".join(f"line {number}" for number in range(5000)) + " " * 40 + "end"
    shown = text(ask_lines(made(command=command), NOW, 80))
    assert all(f"line {number}" in shown for number in (0, 2500, 4999))
    assert "end" in shown


def test_nothing_of_any_other_input_is_left_out() -> None:
    body = "\n".join(f"line {number}" for number in range(3000))
    shown = text(ask_lines(made(tool="mcp__mail__send", body=body, to=["a", "b"], deep={"er": "still"}), NOW, 80))
    for words in ("line 2999", '["a", "b"]', "deep.er", "still"):
        assert words in shown


def test_nothing_of_an_edit_is_left_out() -> None:
    edits = [
        {"old_string": "a", "new_string": "b", "replace_all": True},
        {"old_string": "c", "new_string": "\n".join(f"line {number}" for number in range(2000))},
    ]
    shown = text(ask_lines(made(tool="MultiEdit", file_path="x.py", edits=edits), NOW, 80))
    for words in ("x.py", "+2001 −2", "+ line 1999", "edit 1.replace_all", "true"):
        assert words in shown
    assert "more changed" not in shown


def test_a_cell_that_is_deleted_shows_its_input() -> None:
    shown = text(
        ask_lines(made(tool="NotebookEdit", notebook_path="n.ipynb", edit_mode="delete", cell_id="c4"), NOW, 80)
    )
    assert "delete" in shown
    assert "n.ipynb" in shown


def test_a_short_command_stands_above_the_facts_and_a_long_one_below() -> None:
    short = text(ask_lines(made(command="ls"), NOW, 80)).splitlines()
    long = text(ask_lines(made(command="ls\n" * 30 + "end"), NOW, 80)).splitlines()
    assert short[0].startswith("command")
    assert long[0].startswith("2 would allow")
    assert long[-1].endswith("│ end")


def test_a_plan_is_read_as_it_was_written() -> None:
    shown = text(ask_lines(made(N, "ExitPlanMode", plan=PLAN_TEXT), NOW, 80))
    assert "Round once, at the end" in shown
    assert "• the importer, which has its own rounding" in shown


# Drafts


def test_one_choice_replaces_another_and_words_replace_both() -> None:
    draft = Draft.of((ONE,)).choose(1).choose(2)
    assert draft.replies() == {"1": "b"}
    assert draft.write("c").replies() == {"1": "c"}
    assert draft.write("c").choose(1).replies() == {"1": "a"}
    assert draft.write("c").write("").replies() == {}


def test_many_choices_come_and_go_and_keep_their_order() -> None:
    draft = Draft.of((ANY,)).choose(3).choose(1).choose(2).choose(2).write("w")
    assert draft.replies() == {"1": ["x", "z", "w"]}
    assert draft.write("").replies() == {"1": ["x", "z"]}


def test_a_number_without_an_option_changes_nothing() -> None:
    draft = Draft.of((ONE,))
    assert draft.choose(0) is draft.choose(3) is draft


def test_questions_are_gone_through_and_no_further() -> None:
    draft = Draft.of((ONE, ANY))
    assert not draft.is_last
    there = draft.choose(1).go(1).choose(2)
    assert there.is_last
    assert there.go(5).place == 1
    assert there.go(-5).place == 0
    assert there.replies() == {"1": "a", "2": ["y"]}


def test_options_beyond_the_digits_can_only_be_typed() -> None:
    many = Question("?", "", tuple(Option(str(n)) for n in range(12)))
    draft = Draft.of((many,))
    assert draft.choose(9).replies() == {"1": "8"}
    asked = {"question": "?", "options": [str(n) for n in range(12)]}
    assert "· ( ) 11" in text(ask_lines(made(Q, "AskUserQuestion", questions=[asked]), NOW, 80))


def test_what_is_chosen_of_other_questions_stands_in_a_line() -> None:
    ask = made(Q, "AskUserQuestion", questions=[TOPICS, TOPICS])
    draft = Draft.of(questions(ask)).choose(1).choose(2).go(1)
    assert "✓ 1  Topics  Rates, Returns" in text(ask_lines(ask, NOW, 80, draft))


# Tickets that stopped


def test_the_past_is_what_came_since_the_last_try_began() -> None:
    check = ev.Verified("t", NOW, 1, 1, "out")
    turn = ev.TurnEnded("t", NOW, 1, "u", "success", "completed", False, 1, 0.1)
    started = ev.AttemptStarted("t", NOW, 2, Mode.FRESH, "s")
    ended = ev.AttemptEnded("t", NOW, 2, Outcome.CRASHED, "gone")
    assert Past.of([turn, check]) == Past(turn, None, check)
    assert Past.of([turn, check, started, ended]) == Past(None, ended, None)


@pytest.mark.parametrize(
    ("state", "why", "first"),
    [
        (State.NEEDS_YOU, Why.LIMIT, "resume"),
        (State.NEEDS_YOU, Why.VERIFY, "message"),
        (State.NEEDS_YOU, Why.AUTH, "resume"),
        (State.NEEDS_YOU, Why.CONFLICT, "resume"),
        (State.FAILED, None, "resume"),
    ],
)
def test_advice_begins_with_the_likeliest_and_holds_only_what_applies(
    state: State, why: Why | None, first: str
) -> None:
    ticket = TicketSnapshot("t", state=state, why=why, attempts=1, session_id="s")
    given_ = remedies(ticket)
    assert given_[0].verb.name == first
    assert all(remedy.ticket is ticket and remedy.verb.applies(ticket) for remedy in given_)


def test_an_error_that_is_told_in_several_places_is_shown_once() -> None:
    error = "API Error: 400 messages.3: it cannot be understood"
    turn = ev.TurnEnded("t", NOW, 1, "u", "success", "api_error", True, 2, 0.1, text=error, errors=(error, "and more"))
    past = Past(turn, ev.AttemptEnded("t", NOW, 1, Outcome.API_ERROR, error, 1))
    ticket = TicketSnapshot("t", state=State.FAILED, detail="API 400: messages.3: it cannot be understood")
    shown = text(ticket_lines(ticket, past, 120))
    assert shown.count("cannot be understood") == 1
    assert "errors           and more" in shown
    assert "the try          ended as api error · exit 1" in shown


@pytest.mark.parametrize("words", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("width", [8, 40, 80])
def test_what_a_stopped_ticket_says_stays_in_its_lines(words: str, width: int) -> None:
    turn = ev.TurnEnded("t", NOW, 1, "u", words, words, True, 1, 0.1, text=words, errors=(words,))
    past = Past(
        turn, ev.AttemptEnded("t", NOW, 1, Outcome.CRASHED, words, 1, words), ev.Verified("t", NOW, 1, 1, words)
    )
    ticket = TicketSnapshot("t", words, state=State.FAILED, detail=words)
    for cell in ticket_lines(ticket, past, width):
        assert width_of(cell) <= width
        assert not set(joined(cell)) & set("\x1b\x07\x00\x9b\u202e\u2066\ud83d\r\t\n")


def test_a_long_name_of_a_field_stands_above_its_text() -> None:
    lines = ask_lines(
        made(tool="mcp__x", environment={"variables": {"LD_PRELOAD_OF_ALL": "/tmp/" + "e" * 30}}), NOW, 80
    )
    assert "environment.variables.LD_PRELOAD_OF_ALL" in joined(lines[0])
    assert "/tmp/eee" in joined(lines[1])

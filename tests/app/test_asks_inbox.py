"""Asks under an operator's fingers: read whole, answered by digits, and nothing decided by accident."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from supervisor.app.screens.inbox import InboxScreen
from supervisor.app.screens.reply import ReplyScreen
from supervisor.core import events as ev
from supervisor.core.asks import AnswerKind, AskAnswer, AskKind
from supervisor.core.model import Outcome, State, Why
from tests.app.test_effects import answer, dialog
from tests.app.test_hostile import FORBIDDEN
from tests.screens.ask_scenes import (
    AUDIENCE,
    COMMAND,
    EDIT,
    MANY,
    ONE,
    PLAN,
    ask,
    asking,
    hostile_asks,
    opened,
    question,
    stopped,
)
from tests.screens.effect_scenes import STUCK, stuck
from tests.screens.scenes import HOSTILE, NOW, Story

if TYPE_CHECKING:
    from supervisor.core.asks import Ask
    from supervisor.core.board import Board
    from tests.app.conftest import Opener, Stage

pytestmark = pytest.mark.anyio
SMALL, WIDE = (80, 24), (120, 40)
ALLOW, SESSION, DENY, STOP, REPLY = AnswerKind
DOWN = {EDIT: 0, COMMAND: 1, ONE: 2, PLAN: 3, MANY: 4}
"""How often to go down in the inbox of `asking`."""


def inbox(stage: Stage) -> InboxScreen:
    screen = stage.app.screen
    assert isinstance(screen, InboxScreen)
    return screen


async def open_at(stage: Stage, ident: str) -> None:
    await stage.pilot.press("exclamation_mark", *["j"] * DOWN[ident])
    await stage.pilot.pause()
    assert inbox(stage).ask is stage.board.ask(ident)


def only_answer(stage: Stage) -> AskAnswer:
    assert len(stage.port.said) == 1
    return stage.port.said[0]


def answered(board: Board, ident: str, kind: AnswerKind, message: str = "", **more: Any) -> None:
    """Let the engine write an answer down."""
    found = board.ask(ident)
    assert found is not None
    board.apply(ev.AskAnswered(found.ticket, NOW, ident, kind, found.detail, message, **more))
    board.apply(ev.StateChanged(found.ticket, NOW, State.RUNNING))


def known(board: Board, ident: str) -> Ask:
    found = board.ask(ident)
    assert found is not None
    return found


# What is read


async def test_the_inbox_holds_all_that_waits_the_oldest_first(open_app: Opener) -> None:
    board = stuck()
    ask(board, opened("one", "001-rounding", AskKind.PERMISSION, "Bash", {"command": "ls"}, summary="ls", at=NOW - 200))
    async with open_app(board) as stage:
        assert "! needs you 6" in stage.text().splitlines()[-1]
        await stage.pilot.press("exclamation_mark")
        await stage.pilot.pause()
        rows = [line.split() for line in stage.text().splitlines()[2:8]]
        names = [next(word for word in row if word[:1] == "0") for row in rows]
        assert names == ["003-deploy", "001-rounding", "010-mail", "005-export", "008-docs", "007-tax"]


async def test_an_edit_is_shown_as_a_diff_with_what_each_answer_would_allow(open_app: Opener) -> None:
    async with open_app(asking(), size=SMALL) as stage:
        await open_at(stage, EDIT)
        for words in (
            "── permission Edit · 001-rounding · since ",
            "its agent waits",
            "/shop/tinyshop/pricing.py  +2 −2",
            "-     factor = 1 - percent / 100",
            "+     return to_cents(sum(prices, Decimal(0)) * factor)",
            "│ Edit(/shop/tinyshop/**)",
            "until its session ends",
            "1 allow once  2 for this session  3 deny  4 deny, say why  5 deny and stop",
        ):
            assert words in stage.text()


async def test_a_command_is_shown_to_the_letter_with_everything_that_is_known(open_app: Opener) -> None:
    async with open_app(asking(), size=SMALL) as stage:
        await open_at(stage, COMMAND)
        for words in (
            "│ rm -r build && make images SIZES='400 800'",
            "description  Build both sizes from scratch",
            "rm is not among the allowed commands",
            "│ Bash(rm:*)",
            "│ Bash(make images:*)",
            "the subagent builder",
        ):
            assert words in stage.text()


async def test_the_end_of_a_long_command_is_announced_and_reached(open_app: Opener) -> None:
    story = Story()
    story.add("001", "t")
    story.start("001")
    command = "\n".join([*(f"echo {number}" for number in range(200)), "x" * 3000, "rm -rf /everything"])
    ask(story.board, opened("long", "001", AskKind.PERMISSION, "Bash", {"command": command}, reason="because"))
    async with open_app(story.board, size=SMALL) as stage:
        await stage.pilot.press("exclamation_mark")
        await stage.until(lambda: "more ──" in stage.line("── permission Bash"))
        assert "because" in stage.text()  # facts are not pushed away by the command
        await stage.pilot.press("tab", "end")
        await stage.until(lambda: "│ rm -rf /everything" in stage.text())
        assert "more ──" not in stage.text()
        assert "┊ xxx" in stage.text()


async def test_a_long_line_of_an_edit_is_shown_whole(open_app: Opener) -> None:
    story = Story()
    story.add("001", "t")
    story.start("001")
    given = {"file_path": "a.py", "old_string": "a", "new_string": f"a = 1;{' ' * 900}import evil", "replace_all": True}
    ask(story.board, opened("long", "001", AskKind.PERMISSION, "Edit", given))
    async with open_app(story.board, size=SMALL) as stage:
        await stage.pilot.press("exclamation_mark", "tab", "end")
        await stage.until(lambda: "import evil" in stage.text())
        await stage.pilot.press("home")
        await stage.until(lambda: "replace_all  true" in stage.text())


async def test_an_input_that_was_cut_says_so(open_app: Opener) -> None:
    story = Story()
    story.add("001", "t")
    story.start("001")
    given = {"command": "make\n… 500 more characters"}
    ask(story.board, opened("cut", "001", AskKind.PERMISSION, "Bash", given))
    async with open_app(story.board, size=SMALL) as stage:
        await stage.pilot.press("exclamation_mark")
        await stage.until(lambda: "It is too long to be kept" in stage.text())


async def test_a_plan_is_drawn_and_never_taken_for_markup(open_app: Opener) -> None:
    story = Story()
    story.add("001", "t")
    story.start("001")
    ask(story.board, opened("p", "001", AskKind.PLAN, "ExitPlanMode", {"plan": "# Do [/b] it\n- **one** `two`"}))
    async with open_app(story.board, size=SMALL) as stage:
        await stage.pilot.press("exclamation_mark")
        await stage.until(lambda: "• one two" in stage.text())
        assert "Do [/b] it" in stage.text()
        assert "2 also accepts" in stage.text()


async def test_a_plan_that_was_not_sent_says_where_to_look(open_app: Opener) -> None:
    story = Story()
    story.add("001", "t")
    story.start("001")
    ask(story.board, opened("p", "001", AskKind.PLAN, "ExitPlanMode", {}))
    async with open_app(story.board, size=SMALL) as stage:
        await stage.pilot.press("exclamation_mark")
        await stage.until(lambda: "The agent put no plan into its request" in stage.text())
        await stage.pilot.press("t")
        assert stage.is_on_board
        assert stage.screen.table.cursor_ticket == "001"


# Every digit of every kind


@pytest.mark.parametrize(
    ("ident", "keys", "kind", "message"),
    [
        (EDIT, ["1"], ALLOW, ""),
        (EDIT, ["2"], SESSION, ""),
        (EDIT, ["3"], DENY, ""),
        (EDIT, ["4", "n", "o", "enter"], DENY, "no"),
        (EDIT, ["5", "enter"], STOP, ""),
        (EDIT, ["5", "n", "o", "enter"], STOP, "no"),
        (COMMAND, ["1"], ALLOW, ""),
        (PLAN, ["1"], ALLOW, ""),
        (PLAN, ["2"], SESSION, ""),
        (PLAN, ["3", "enter"], DENY, ""),
        (PLAN, ["3", *"add tests", "enter"], DENY, "add tests"),
        (PLAN, ["4", "enter"], STOP, ""),
        (ONE, ["0", "enter"], DENY, ""),
        (ONE, ["0", "n", "o", "enter"], DENY, "no"),
        (ONE, ["s", "n", "o", "enter"], STOP, "no"),
    ],
)
async def test_each_digit(open_app: Opener, ident: str, keys: list[str], kind: AnswerKind, message: str) -> None:
    async with open_app(asking(), size=SMALL) as stage:
        await open_at(stage, ident)
        await stage.pilot.press(*keys)
        assert only_answer(stage) == AskAnswer(ident, kind, message, seen_version=1)
        assert inbox(stage).items.has_focus
        assert inbox(stage).ask is stage.board.ask(ident)


async def test_a_digit_that_stands_for_nothing_says_so(open_app: Opener) -> None:
    async with open_app(asking(), size=SMALL) as stage:
        await open_at(stage, EDIT)
        await stage.pilot.press("6", "enter")
        assert stage.port.said == []
        assert stage.is_on_board  # enter goes to the ticket of a permission


async def test_two_is_neither_offered_nor_taken_where_no_rule_is_suggested(open_app: Opener) -> None:
    async with open_app(stopped()) as stage:
        await stage.pilot.press("exclamation_mark")
        await stage.pilot.pause()
        assert "for this session" not in stage.text()
        await stage.pilot.press("2")
        await stage.until(lambda: "suggests no rule" in stage.text())
        assert stage.port.said == []


@pytest.mark.parametrize(
    ("ident", "digit"), [(EDIT, "4"), (EDIT, "5"), (PLAN, "3"), (PLAN, "4"), (ONE, "0"), (ONE, "o")]
)
async def test_every_dialog_closes_with_escape_and_answers_nothing(open_app: Opener, ident: str, digit: str) -> None:
    async with open_app(asking(), size=SMALL) as stage:
        await open_at(stage, ident)
        await stage.pilot.press(digit)
        assert isinstance(stage.app.screen, ReplyScreen)
        await stage.pilot.press("1", "q", "question_mark", "escape")
        assert inbox(stage).items.has_focus
        assert stage.port.said == []
        assert stage.port.stops == 0


async def test_a_message_is_required_where_one_was_asked_for(open_app: Opener) -> None:
    async with open_app(asking(), size=SMALL) as stage:
        await open_at(stage, COMMAND)
        await stage.pilot.press("4", "space", "enter")
        await stage.until(lambda: "Write something" in stage.text())
        assert "permission Bash of 002-images" in dialog(stage)
        assert "rm -r build" in dialog(stage)
        assert stage.port.said == []


# Questions


async def test_a_single_choice_is_marked_by_its_digit_and_sent_by_enter(open_app: Opener) -> None:
    async with open_app(asking(), size=SMALL) as stage:
        await open_at(stage, ONE)
        assert "enter send" in stage.text()
        await stage.pilot.press("1", "2")
        assert stage.port.said == []
        await stage.until(lambda: "2 (•) Shop owners  People who read it once" in stage.text())
        assert "1 ( ) Developers" in stage.text()
        await stage.pilot.press("enter")
        assert only_answer(stage) == AskAnswer(ONE, REPLY, answers={"1": "Shop owners"}, seen_version=1)


async def test_enter_sends_nothing_where_nothing_is_chosen(open_app: Opener) -> None:
    async with open_app(asking(), size=SMALL) as stage:
        await open_at(stage, ONE)
        await stage.pilot.press("enter", "9", "enter")
        await stage.until(lambda: "there is no option 9" in stage.text())
        assert "choose an option by its digit" in stage.text()
        assert stage.port.said == []


async def test_two_clicks_go_to_the_ticket_and_send_nothing(open_app: Opener) -> None:
    async with open_app(asking(), size=SMALL) as stage:
        await open_at(stage, ONE)
        await stage.pilot.press("1")
        await stage.pilot.click(inbox(stage).items, offset=(10, 3), times=2)
        assert stage.is_on_board
        assert stage.port.said == []


async def test_several_questions_step_through_with_many_choices_and_own_words(open_app: Opener) -> None:
    async with open_app(asking(), size=SMALL) as stage:
        await open_at(stage, MANY)
        await stage.pilot.press("1", "2", "3", "2", "o", *"Duties", "enter")
        await stage.until(lambda: "o [x] other: Duties" in stage.text())
        for words in ("1 [x] Rates", "2 [ ] Returns", "3 [x] Customs", "1 of 2  Topics", "· 2  Audience"):
            assert words in stage.text()
        await stage.pilot.press("enter")
        await stage.until(lambda: "✓ 1  Topics  Rates, Customs, Duties" in stage.text())
        assert "2 of 2  Audience" in stage.text()
        assert stage.port.said == []
        await stage.pilot.press("backspace")
        await stage.until(lambda: "1 of 2  Topics" in stage.text())
        await stage.pilot.press("enter", "3", "o", *"Nobody", "enter", "enter")
        said = only_answer(stage)
        assert said.answers == {"1": ["Rates", "Customs", "Duties"], "2": "Nobody"}
        assert said.kind is REPLY


async def test_what_was_chosen_outlives_the_inbox(open_app: Opener) -> None:
    async with open_app(asking(), size=SMALL) as stage:
        await open_at(stage, ONE)
        await stage.pilot.press("3", "t")
        assert stage.is_on_board
        await stage.pilot.press("a")
        await stage.until(lambda: "3 (•) Both" in stage.text())
        await stage.pilot.press("enter")
        assert only_answer(stage).answers == {"1": "Both"}
        await answer(stage, None)
        assert stage.screen.docket.drafts == {}


async def test_questions_that_make_no_sense_can_still_be_turned_down(open_app: Opener) -> None:
    story = Story()
    story.add("001", "t")
    story.start("001")
    given = {"questions": "what? [/b]"}
    ask(story.board, opened("odd", "001", AskKind.QUESTION, "AskUserQuestion", given))
    async with open_app(story.board, size=SMALL) as stage:
        await stage.pilot.press("exclamation_mark", "1", "o")
        await stage.until(lambda: "cannot be read" in stage.text())
        assert "what? [/b]" in stage.text()
        assert stage.port.said == []
        await stage.pilot.press("0", "enter")
        assert only_answer(stage).kind is DENY


# What comes of it


async def test_an_answer_is_pending_at_once_and_seen_until_the_cursor_leaves(open_app: Opener) -> None:
    async with open_app(asking(), size=SMALL) as stage:
        await open_at(stage, COMMAND)
        await stage.pilot.press("1")
        await stage.pilot.pause()
        assert "allow once …" in stage.line("▸")
        await stage.pilot.press("1", "3")
        await stage.until(lambda: "the last answer is on its way" in stage.text())
        assert len(stage.port.said) == 1
        answered(stage.board, COMMAND, ALLOW)
        await answer(stage, None)
        assert "NEEDS YOU  4" in stage.text()
        assert "✓ allowed" in stage.line("▸")
        assert "allow once" not in stage.text()
        await stage.pilot.press("1")
        await stage.until(
            lambda: "this permission is over" in stage.text() or "it was answered already" in stage.text()
        )
        assert len(stage.port.said) == 1
        await stage.pilot.press("j")
        await stage.until(lambda: "002-images" not in stage.text().split("──")[0])
        assert "003-docs" in stage.line("▸")


async def test_a_stale_answer_is_refused_and_its_words_are_kept(open_app: Opener) -> None:
    async with open_app(asking(), size=SMALL) as stage:
        await open_at(stage, COMMAND)
        await stage.pilot.press("4", *"not now", "enter")
        assert only_answer(stage).seen_version == 1
        await answer(stage, "it has changed since it was shown [/x]: look at it again")
        assert "not done: it has changed since it was shown [/x]" in stage.text()
        await stage.pilot.press("4", "enter")
        assert stage.port.said[1].message == "not now"
        assert "not done" not in stage.text()


async def test_words_for_an_ask_that_went_meanwhile_are_sent_for_what_was_seen(open_app: Opener) -> None:
    async with open_app(asking(), size=SMALL) as stage:
        await open_at(stage, COMMAND)
        await stage.pilot.press("4", "n")
        stage.board.apply(ev.AskWithdrawn("002-images", NOW, COMMAND))
        stage.frame()
        await stage.pilot.press("o", "enter")
        assert only_answer(stage).seen_version == 1
        assert known(stage.board, COMMAND).version == 2


async def test_a_refusal_after_the_inbox_was_closed_is_told(open_app: Opener) -> None:
    async with open_app(asking(), size=SMALL) as stage:
        await open_at(stage, COMMAND)
        await stage.pilot.press("1", "escape")
        await answer(stage, "the disk [/b] is full")
        await stage.until(lambda: "the disk [/b] is full" in stage.text())


async def test_an_ask_that_is_withdrawn_shows_so_while_it_is_selected(open_app: Opener) -> None:
    async with open_app(asking(), size=SMALL) as stage:
        await open_at(stage, COMMAND)
        for ident, ticket in ((COMMAND, "002-images"), (EDIT, "001-rounding")):
            stage.board.apply(ev.AskWithdrawn(ticket, NOW, ident))
            stage.board.apply(ev.StateChanged(ticket, NOW, State.RUNNING))
        stage.frame()
        await stage.until(lambda: "– withdrawn" in stage.line("▸"))
        assert "NEEDS YOU  3" in stage.text()
        assert "001-rounding" not in stage.text()
        await stage.pilot.press("1")
        assert stage.port.said == []
        await stage.pilot.press("j")
        await stage.until(lambda: "002-images" not in stage.text())


async def test_a_resting_ask_says_that_nobody_waits(open_app: Opener) -> None:
    board = asking()
    board.apply(ev.AskRested("001-rounding", NOW, EDIT))
    async with open_app(board, size=SMALL) as stage:
        await open_at(stage, EDIT)
        assert "it goes on once answered" in stage.line("── permission Edit")
        await stage.pilot.press("1")
        assert only_answer(stage).kind is ALLOW


async def test_two_asks_of_one_ticket_stand_on_two_lines(open_app: Opener) -> None:
    board = asking()
    board.apply(question("second", "001-rounding", [AUDIENCE], at=NOW - 5))
    async with open_app(board, size=SMALL) as stage:
        await stage.pilot.press("a")
        assert inbox(stage).ask is known(stage.board, EDIT)
        assert "NEEDS YOU  6" in stage.text()
        answered(stage.board, EDIT, ALLOW)
        stage.board.apply(ev.StateChanged("001-rounding", NOW, State.NEEDS_YOU, Why.QUESTION, "which?", live=True))
        stage.frame()
        await stage.pilot.press("n", "n", "n", "n", "n")
        await stage.pilot.pause()
        assert inbox(stage).ask is known(stage.board, "second")


# From the board


async def test_a_jumps_to_the_ask_of_the_ticket_and_decides_nothing(open_app: Opener) -> None:
    async with open_app(asking(), size=SMALL) as stage:
        stage.screen.go_to("004-plan")
        await stage.until(lambda: "a answer" in stage.text().splitlines()[-1])
        await stage.pilot.press("a")
        assert inbox(stage).ask is known(stage.board, PLAN)
        assert stage.port.said == []
        await stage.pilot.press("1")
        assert only_answer(stage).ask_id == PLAN


async def test_a_begins_at_the_line_of_a_ticket_that_stopped_for_another_reason(open_app: Opener) -> None:
    async with open_app(stopped()) as stage:
        stage.screen.go_to("003-key")
        await stage.pilot.press("a")
        await stage.pilot.pause()
        assert "003-key" in stage.line("▸")


async def test_the_cursor_stays_on_its_ask_when_older_ones_come(open_app: Opener) -> None:
    async with open_app(asking(), size=SMALL) as stage:
        await open_at(stage, COMMAND)
        ask(stage.board, question("older", "006-cart", [AUDIENCE], at=NOW - 900))
        stage.frame()
        await stage.pilot.press("1")
        assert only_answer(stage).ask_id == COMMAND


async def test_the_palette_offers_what_can_be_answered(open_app: Opener) -> None:
    async with open_app(asking(), size=WIDE) as stage:
        await open_at(stage, COMMAND)
        await stage.pilot.press("ctrl+p", *"allow once")
        await stage.until(lambda: "allow once 002-images: Bash rm -r build" in stage.text())
        await stage.pilot.press("down", "enter")
        await stage.until(lambda: bool(stage.port.said))
        assert only_answer(stage).kind is ALLOW


async def test_help_lists_the_digits(open_app: Opener) -> None:
    async with open_app(asking(), size=(100, 140)) as stage:
        await stage.pilot.press("question_mark")
        for words in ("allow once: Let it do this one call.", "keep planning:", "no answer:", "backspace"):
            await stage.until(lambda words=words: words in stage.text())  # type: ignore[misc]


# Tickets that stopped


class Past:
    """A reader that knows what happened."""

    def __init__(self, *events: ev.Event) -> None:
        self.events_of = events
        self.asked: list[str | None] = []

    async def events(self, ticket: str | None = None) -> tuple[ev.Event, ...]:
        """Return the events."""
        self.asked.append(ticket)
        return self.events_of


async def test_a_ticket_that_stopped_says_what_happened_and_what_can_be_done(open_app: Opener) -> None:
    turn = ev.TurnEnded(
        "002-check", NOW, 1, "u", "success", "completed", False, 4, 0.31, text="All done [/b].", errors=("it broke",)
    )
    check = ev.Verified("002-check", NOW, 2, 1, "\n".join(f"line {n}" for n in range(30)) + "\n1 failed")
    ended = ev.AttemptEnded("002-check", NOW, 1, Outcome.DONE, "", 0, "boom")
    async with open_app(stopped(), size=(80, 50)) as stage:
        stage.port.reader = Past(turn, check, ended)
        stage.screen.go_to("002-check")
        await stage.pilot.press("a")
        await stage.until(lambda: "success · completed · 4 turns · $0.31" in stage.text())
        for words in (
            "All done [/b].",
            "it broke",
            "round 2: exit 1",
            "1 failed",
            "lines before",
            "ended as done",
            "boom",
        ):
            assert words in stage.text()
        assert "m  message: tell the agent what to do differently" in stage.text()
        assert "m message  r resume" in stage.text()
        assert stage.port.reader.asked == ["002-check"]
        await stage.pilot.press("j")
        await stage.until(lambda: stage.port.reader.asked == ["002-check", "003-key"])


async def test_the_verbs_work_from_the_inbox_and_paint_at_once(open_app: Opener) -> None:
    async with open_app(stopped()) as stage:
        await stage.pilot.press("exclamation_mark", "end", "r")
        assert stage.port.submitted == [("resume", ("004-crash",))]
        await stage.until(lambda: "resume …" in stage.line("▸"))
        await stage.pilot.press("home", "i")
        assert stage.port.submitted[1] == ("interrupt", ("005-asks",))


async def test_a_limit_opens_its_dialog_from_the_inbox(open_app: Opener) -> None:
    async with open_app(stopped()) as stage:
        await stage.pilot.press("exclamation_mark", "j", "r")
        await stage.until(lambda: "Raise the limit and resume: 001-limit" in stage.text())
        await stage.pilot.press("escape", "b")
        await stage.until(lambda: "Budget of 001-limit" in stage.text())
        await stage.pilot.press("escape")
        assert inbox(stage).items.has_focus


async def test_digits_do_nothing_to_a_ticket(open_app: Opener) -> None:
    async with open_app(stopped()) as stage:
        await stage.pilot.press("exclamation_mark", "j", *"0123456789so", "backspace")
        assert stage.port.said == []
        assert stage.port.rulings == []
        await stage.until(lambda: "this ticket takes no digits" in stage.text())


async def test_effects_are_still_answered_among_asks(open_app: Opener) -> None:
    board = stuck()
    ask(board, opened("one", "001-rounding", AskKind.PERMISSION, "Bash", {"command": "ls"}, at=NOW - 900))
    async with open_app(board) as stage:
        await stage.pilot.press("exclamation_mark", "1")
        assert only_answer(stage).ask_id == "one"
        await stage.pilot.press("j", "4", "w", "enter")
        assert stage.port.rulings[0][0].key == STUCK.key


# Words that broke screens


@pytest.mark.parametrize("size", [SMALL, (160, 50)])
async def test_nothing_hostile_reaches_the_terminal(open_app: Opener, size: tuple[int, int]) -> None:
    async with open_app(hostile_asks(), size=size) as stage:
        await stage.pilot.press("exclamation_mark")
        for _ in HOSTILE:
            for keys in ([], ["4" if size == SMALL else "0"], ["escape", "tab", "end"], ["tab"]):
                await stage.pilot.press(*keys)
                await stage.pilot.pause()
                assert not set(stage.text()) & FORBIDDEN
            await stage.pilot.press("j")
        await stage.pilot.press("ctrl+p")
        await stage.pilot.pause()
        assert not set(stage.text()) & FORBIDDEN

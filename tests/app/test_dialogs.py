"""Dialogs of verbs under an operator's fingers: messages, limits, priorities, starting over, and questions."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from textual.events import Key, Paste

from supervisor.app.screens.confirm import ConfirmScreen
from supervisor.app.screens.dialog import VerbDialog
from supervisor.app.screens.limits import LimitsScreen
from supervisor.app.screens.priority import PriorityScreen
from supervisor.app.screens.start_over import StartOverScreen
from supervisor.app.screens.tell import TellScreen
from supervisor.core import events as ev
from supervisor.core.errors import SupervisorError
from supervisor.core.model import State, Why
from tests.screens.ask_scenes import asking
from tests.screens.dialog_scenes import TICKET, Library, at_rest
from tests.screens.scenes import HOSTILE, NOW, Story, busy

if TYPE_CHECKING:
    from tests.app.conftest import Opener, Stage

pytestmark = pytest.mark.anyio
SMALL = (80, 24)


def typed(words: str) -> list[str]:
    """Return the keys of some words."""
    return [{" ": "space", "+": "plus", "-": "minus", ".": "full_stop"}.get(sign, sign) for sign in words]


def dialog(stage: Stage) -> str:
    """Return the words inside the dialog's border on one line."""
    lines = (line.split("│") for line in stage.text().splitlines() if line.count("│") >= 2)
    return " ".join(" ".join(parts[1] for parts in lines).split())


def given(stage: Stage) -> list[tuple[str, tuple[str, ...], dict[str, Any]]]:
    """Return what was submitted."""
    return [(verb, ids, told) for (verb, ids), told in zip(stage.port.submitted, stage.port.told, strict=True)]


def notices(stage: Stage) -> list[str]:
    """Return what the operator is told beside the screen."""
    return [notice.message for notice in stage.app._notifications]


async def on(stage: Stage, ticket: str, *keys: str) -> None:
    """Press keys on a ticket."""
    stage.port.reader = stage.port.reader or Library()
    stage.screen.go_to(ticket)
    await stage.pilot.press(*keys)
    await stage.pilot.pause()


# Every dialog


@pytest.mark.parametrize("size", [SMALL, (120, 40)])
@pytest.mark.parametrize("key", ["m", "b", "P", "R", "f", "z"])
async def test_escape_closes_every_dialog_and_nothing_happens(
    open_app: Opener, key: str, size: tuple[int, int]
) -> None:
    async with open_app(at_rest(), size=size) as stage:
        await on(stage, TICKET if key != "P" else "006-cart", key)
        assert isinstance(stage.app.screen, VerbDialog)
        assert stage.app.focused is not None
        await stage.pilot.press("escape")
        assert stage.is_on_board
        assert stage.has_focus(stage.screen.table)
        assert stage.port.submitted == []


@pytest.mark.parametrize("key", ["m", "b", "P", "R", "f", "z"])
async def test_all_of_a_dialog_fits_into_80x24_and_tab_goes_round(open_app: Opener, key: str) -> None:
    async with open_app(at_rest(), size=SMALL) as stage:
        await on(stage, TICKET if key != "P" else "006-cart", key)
        box = stage.app.screen.query_one("#dialog")
        assert box.max_scroll_y == 0
        assert "esc" in dialog(stage)
        first, seen = stage.app.focused, []
        for _ in range(12):
            assert stage.app.focused is not None
            seen.append(stage.app.focused)
            await stage.pilot.press("tab")
            if stage.app.focused is first:
                break
        assert stage.app.focused is first
        assert len(seen) >= 2


@pytest.mark.parametrize("size", [(1, 1), (20, 5), (40, 12)])
async def test_no_size_is_too_small(open_app: Opener, size: tuple[int, int]) -> None:
    async with open_app(at_rest(), size=size) as stage:
        for key in ("m", "b", "R", "f", "z"):
            await on(stage, TICKET, key, "tab", "shift+tab", "escape")
            assert stage.is_on_board


async def test_a_click_beside_the_fields_keeps_the_focus(open_app: Opener) -> None:
    async with open_app(at_rest(), size=SMALL) as stage:
        await on(stage, TICKET, "m")
        await stage.pilot.click(offset=(5, 2))
        await stage.pilot.click("#dialog-title")
        await stage.pilot.press(*typed("still"))
        assert tell(stage).area.text == "still"


async def test_hostile_titles_are_literal_in_every_dialog(open_app: Opener) -> None:
    story = Story()
    for number, text in enumerate(HOSTILE[1:6:2]):
        story.add(f"{number} {text}", text)
        story.start(f"{number} {text}")
        story.move(f"{number} {text}", State.PAUSED, detail=text)
    async with open_app(story.board, size=SMALL) as stage:
        for ticket in story.board.rows():
            for key in ("m", "b", "P", "R", "f", "z", "escape"):
                await on(stage, ticket.id, key)
                assert not set(stage.text()) & set("\x1b\x07\x00\x9b\u202e\u2066\r\t")
                if key == "m" and ticket.id.endswith("[/b] y [red]z[/red]"):
                    assert "Message to 0 x [/b] y [red]z[/red]" in dialog(stage)
                await stage.pilot.press("escape")


# Messages


def tell(stage: Stage) -> TellScreen:
    screen = stage.app.screen
    assert isinstance(screen, TellScreen)
    return screen


async def test_a_message_is_typed_and_sent(open_app: Opener) -> None:
    async with open_app(busy(), size=SMALL) as stage:
        await on(stage, "001-rounding", "m", *typed("q x"), "enter", *typed("two"))
        assert "● running: the agent gets this when its turn ends." in dialog(stage)
        await stage.pilot.press("ctrl+s")
        assert given(stage) == [("message", ("001-rounding",), {"text": "q x\ntwo", "now": False})]
        assert stage.is_on_board
        assert "message …" in stage.line("001-rounding ")


async def test_a_message_that_is_typed_in_a_hurry_loses_nothing(open_app: Opener) -> None:
    async with open_app(busy(), size=SMALL) as stage:
        for sign in "mquick xi":
            stage.app.post_message(Key({" ": "space"}.get(sign, sign), sign))
        await stage.until(lambda: stage.is_on_board is False and tell(stage).area.text == "quick xi")
        assert stage.port.submitted == []


async def test_a_message_can_interrupt(open_app: Opener) -> None:
    async with open_app(busy(), size=SMALL) as stage:
        await on(stage, "001-rounding", "m", *typed("stop"), "tab", "tab", "enter")
        await stage.until(lambda: stage.is_on_board)
        assert given(stage) == [("message", ("001-rounding",), {"text": "stop", "now": True})]


async def test_a_resting_ticket_goes_on_with_a_message_and_is_not_interrupted(open_app: Opener) -> None:
    async with open_app(busy(), size=SMALL) as stage:
        await on(stage, TICKET, "m", *typed("go"))
        assert "‖ paused: it goes on with this as soon as a slot is free." in dialog(stage)
        assert "interrupt and send" not in dialog(stage)
        await stage.pilot.press("ctrl+n")
        assert given(stage) == [("message", (TICKET,), {"text": "go", "now": False})]


async def test_what_becomes_of_it_follows_the_board(open_app: Opener) -> None:
    async with open_app(busy(), size=SMALL) as stage:
        await on(stage, "001-rounding", "m")
        stage.board.apply(ev.StateChanged("001-rounding", NOW, State.DONE))
        await stage.until(lambda: "✓ done: it goes on with this" in dialog(stage))
        assert "interrupt and send" not in dialog(stage)


async def test_a_blank_message_is_refused_in_place(open_app: Opener) -> None:
    async with open_app(busy(), size=SMALL) as stage:
        await on(stage, TICKET, "m", "space", "ctrl+s")
        await stage.until(lambda: "the message is blank" in dialog(stage))
        assert (stage.port.submitted, stage.has_focus(tell(stage).area)) == ([], True)


async def test_a_draft_stays_until_it_is_sent_for_those_it_was_written_for(open_app: Opener) -> None:
    async with open_app(busy(), size=SMALL) as stage:
        await on(stage, TICKET, "m", *typed("for five"), "escape")
        await on(stage, "008-docs", "m")
        assert tell(stage).area.text == ""
        await on(stage, "008-docs", "escape")
        await on(stage, TICKET, "m", "!")
        assert tell(stage).area.text == "for five!"
        await stage.pilot.press("ctrl+s")
        await on(stage, TICKET, "m")
        assert tell(stage).area.text == ""


async def test_a_message_to_several_says_how_many(open_app: Opener) -> None:
    async with open_app(busy(), size=SMALL) as stage:
        await stage.pilot.press("space", "space")
        await on(stage, TICKET, "space", "m", *typed("all"))
        assert "Message to 3 tickets" in dialog(stage)
        words = "2 have an agent at work, which gets it when its turn ends; 1 rests and goes on with it."
        assert words in dialog(stage)
        await stage.pilot.press("ctrl+s")
        assert given(stage)[0][1] == ("001-rounding", "001-rounding.2", TICKET)
        assert notices(stage) == ["message: 3 accepted"]


async def test_a_pasted_message_is_harmless_and_keeps_its_lines(open_app: Opener) -> None:
    async with open_app(busy(), size=SMALL) as stage:
        await on(stage, TICKET, "m")
        tell(stage).area.post_message(Paste("one\r\n\x1b[2Jtwo\u202e [/b]"))
        await stage.until(lambda: "[/b]" in dialog(stage))
        assert tell(stage).area.text == "one\n␛[2Jtwo⟦U+202E⟧ [/b]"


async def test_a_paste_that_is_too_long_is_refused_and_not_cut(open_app: Opener) -> None:
    async with open_app(busy(), size=SMALL) as stage:
        await on(stage, TICKET, "m")
        tell(stage).area.post_message(Paste("word " * 50_000))
        await stage.until(lambda: len(tell(stage).area.text) > 100_000)
        await stage.pilot.press("ctrl+s")
        await stage.until(lambda: "more than 100,000" in dialog(stage))
        assert stage.port.submitted == []


async def test_hidden_tickets_are_named_in_the_dialog(open_app: Opener) -> None:
    async with open_app(busy(), size=SMALL) as stage:
        await stage.pilot.press("space", "slash", *"rounding.2", "enter", "space", "m")
        await stage.until(lambda: "The filter hides 1 of them: 001-rounding." in dialog(stage))


async def test_a_ticket_that_is_cancelled_while_a_message_is_written_gets_nothing(open_app: Opener) -> None:
    async with open_app(busy(), size=SMALL) as stage:
        await stage.pilot.press("space", "space", "m")
        stage.board.apply(ev.StateChanged("001-rounding", NOW, State.CANCELLED))
        await stage.until(lambda: "1 is cancelled by now and gets nothing." in dialog(stage))


# Whom it is not for


@pytest.mark.parametrize(
    ("key", "title", "left"),
    [
        ("m", "Message to 9 tickets", "2 more marked are left alone. 002-images is done: finished work is begun"),
        ("P", "Priority of 9 tickets", "2 more marked are left alone. 002-images is done: it does not wait for its"),
        (
            "r",
            "Raise the limit and resume: 3 tickets",
            "8 more marked are left alone. 001-rounding, 001-rounding.2 are",
        ),
        ("i", "Interrupt 5 tickets?", "6 more marked are left alone. 002-images is done: there is nothing to"),
        ("x", "Cancel 9 tickets?", "2 more marked are left alone. 002-images is done already; 009-legacy is cancelled"),
        (
            "R",
            "Start 5 tickets over?",
            "6 more marked are left alone. 001-rounding, 001-rounding.2 are running: interru",
        ),
    ],
)
async def test_every_dialog_for_several_says_whom_it_is_not_for(
    open_app: Opener, key: str, title: str, left: str
) -> None:
    async with open_app(busy(), size=SMALL) as stage:
        await stage.pilot.press("asterisk", key)
        await stage.until(lambda: title in dialog(stage))
        assert left in dialog(stage)
        assert stage.port.submitted == []


async def test_a_budget_for_several_is_for_all_of_them(open_app: Opener) -> None:
    async with open_app(busy(), size=SMALL) as stage:
        await stage.pilot.press("asterisk", "b")
        await stage.until(lambda: "Budget of 11 tickets" in dialog(stage))
        assert "left alone" not in dialog(stage)


async def test_of_several_marked_one_that_takes_a_message_is_written_to_alone(open_app: Opener) -> None:
    async with open_app(busy(), size=SMALL) as stage:
        await on(stage, "009-legacy", "space")
        await on(stage, TICKET, "space", "m", *typed("go"))
        assert f"Message to {TICKET}" in dialog(stage)
        assert "1 more marked is left alone. 009-legacy is cancelled: resume it first." in dialog(stage)
        await stage.pilot.press("ctrl+s")
        assert given(stage) == [("message", (TICKET,), {"text": "go", "now": False})]


# Limits


async def test_the_keys_say_what_enter_does_in_each_field(open_app: Opener) -> None:
    async with open_app(busy(), size=SMALL) as stage:
        await on(stage, "001-rounding", "b")
        await stage.until(lambda: "enter next ctrl+s set esc leave" in dialog(stage))
        await stage.pilot.press("enter")
        await stage.until(lambda: "enter set esc leave" in dialog(stage))
        await stage.pilot.press("tab")
        await stage.until(lambda: "enter set esc leave" in dialog(stage))
        await stage.pilot.press("tab")
        await stage.until(lambda: "enter next ctrl+s set esc leave" in dialog(stage))
        await stage.pilot.press("escape")
        await on(stage, "007-tax", "r")
        await stage.until(lambda: "enter next ctrl+s raise and resume esc leave" in dialog(stage))
        await stage.pilot.press("enter")
        await stage.until(lambda: "enter raise and resume esc leave" in dialog(stage))


async def test_a_budget_shows_what_there_is_and_takes_a_sum(open_app: Opener) -> None:
    async with open_app(busy(), size=SMALL) as stage:
        await on(stage, "001-rounding", "b")
        assert "spent $0.21 of $1.00 headroom $0.79 reserve $0.05" in dialog(stage)
        await stage.pilot.press(*typed("2.5"), "enter", *typed("40"))
        await stage.until(lambda: "budget $2.50, headroom $2.29, at most 40 turns a prompt" in dialog(stage))
        await stage.pilot.press("enter")
        assert given(stage) == [("budget", ("001-rounding",), {"budget_usd": 2.5, "max_turns": 40})]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("+1", {"raise_usd": 1.0}),
        ("-0.25", {"raise_usd": -0.25}),
        ("$3", {"budget_usd": 3.0}),
        ("none", {"no_budget": True}),
    ],
)
async def test_a_budget_can_be_told_in_several_ways(open_app: Opener, words: str, told: dict[str, Any]) -> None:
    async with open_app(busy(), size=SMALL) as stage:
        await on(stage, "001-rounding", "b", *(c if c != "$" else "dollar_sign" for c in typed(words)), "ctrl+s")
        assert given(stage) == [("budget", ("001-rounding",), told)]


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ("lots", '"lots" is no sum'),
        ("nan", '"budget_usd" must be a number'),
        ("99999999", '"budget_usd" must be at most 1000000'),
        ("", "say a sum, as in 2.50 or +1"),
    ],
)
async def test_what_makes_no_sense_is_refused_in_place(open_app: Opener, words: str, fault: str) -> None:
    async with open_app(busy(), size=SMALL) as stage:
        await on(stage, "001-rounding", "b", *typed(words), "ctrl+s")
        await stage.until(lambda: fault in dialog(stage))
        assert stage.port.submitted == []


@pytest.mark.parametrize(("ticket", "key"), [(TICKET, "m"), (TICKET, "b"), (TICKET, "f"), ("006-cart", "P")])
async def test_a_refusal_stays_while_the_batch_goes_on_and_goes_when_something_is_typed(
    open_app: Opener, ticket: str, key: str
) -> None:
    async with open_app(at_rest(), size=SMALL) as stage:
        await on(stage, ticket, key, *(["backspace"] if key == "P" else []), "ctrl+s")
        missing = stage.app.screen.query_one("#missing")
        await stage.until(lambda: missing.display)
        for number in range(3):
            stage.board.apply(ev.AgentSpoke("001-rounding", NOW, f"Step {number}"))
            stage.frame()
            await stage.pilot.pause()
        assert missing.display
        await stage.pilot.press("1")
        await stage.until(lambda: not missing.display)


async def test_raising_where_there_is_no_budget_is_refused_for_that_ticket_only(open_app: Opener) -> None:
    async with open_app(busy(), size=SMALL) as stage:
        await stage.pilot.press("space")
        await on(stage, "008-docs", "space", "b", *typed("+1"))
        await stage.until(lambda: "1 of 2 will have it; not 008-docs has no budget" in dialog(stage))
        await stage.pilot.press("ctrl+s")
        assert given(stage) == [("budget", ("001-rounding",), {"raise_usd": 1.0})]
        told = "budget: 1 accepted, 1 refused: 008-docs has no budget that could be raised"
        await stage.until(lambda: notices(stage) == [told])


async def test_resuming_at_a_limit_offers_a_higher_one_and_then_resumes(open_app: Opener) -> None:
    async with open_app(busy(), size=SMALL) as stage:
        await on(stage, "007-tax", "r")
        assert isinstance(stage.app.screen, LimitsScreen)
        assert "Raise the limit and resume: 007-tax" in dialog(stage)
        await stage.until(lambda: "budget $1.55, headroom $0.57" in dialog(stage))
        await stage.pilot.press("enter", "enter")
        assert given(stage) == [("budget", ("007-tax",), {"budget_usd": 1.55}), ("resume", ("007-tax",), {})]


async def test_resuming_at_a_limit_of_turns_offers_twice_as_many(open_app: Opener) -> None:
    story = Story()
    story.add("001", budget=5.0, max_turns=20)
    story.start("001")
    story.turn("001", 0.2, "error_max_turns", "max_turns", n=20)
    story.move("001", State.NEEDS_YOU, why=Why.LIMIT, detail="max turns reached")
    async with open_app(story.board, size=SMALL) as stage:
        await on(stage, "001", "r", "enter")
        assert [told for *_, told in given(stage)] == [{"max_turns": 40}, {}]


async def test_resuming_at_a_limit_without_a_new_one_only_resumes(open_app: Opener) -> None:
    async with open_app(busy(), size=SMALL) as stage:
        await on(stage, "007-tax", "r", "ctrl+u")
        await stage.until(lambda: "It resumes with the limits it has." in dialog(stage))
        await stage.pilot.press("ctrl+s")
        assert given(stage) == [("resume", ("007-tax",), {})]


async def test_several_at_a_limit_are_raised_by_what_one_of_them_needs(open_app: Opener) -> None:
    story = Story()
    for ticket, budget in (("001", 1.0), ("002", 4.0), ("003", 1.0)):
        story.add(ticket, budget=budget, reserve_usd=0.05)
        story.start(ticket)
        story.turn(ticket, budget, "error_max_budget_usd", "budget_exhausted")
        story.move(ticket, State.PAUSED if ticket == "003" else State.NEEDS_YOU, why=Why.LIMIT)
    async with open_app(story.board, size=SMALL) as stage:
        await on(stage, "001", "asterisk", "r")
        await stage.until(lambda: "2 of 3 will have it" in dialog(stage))
        await stage.pilot.press("ctrl+s")
        assert given(stage) == [
            ("budget", ("001", "002"), {"raise_usd": 2.05}),
            ("resume", ("001", "002", "003"), {}),
        ]


async def test_other_resting_tickets_resume_at_once(open_app: Opener) -> None:
    async with open_app(busy(), size=SMALL) as stage:
        await on(stage, TICKET, "r")
        assert given(stage) == [("resume", (TICKET,), {})]


# Priority


async def test_a_priority_is_changed_by_keys_and_buttons(open_app: Opener) -> None:
    async with open_app(busy(), size=SMALL) as stage:
        await on(stage, "006-cart", "P", "plus", "up", "plus", "minus", "down")
        assert isinstance(stage.app.screen, PriorityScreen)
        await stage.pilot.click("VerbDialog Button")
        await stage.pilot.click("VerbDialog Button")
        await stage.until(lambda: stage.app.screen.query_one("#priority").value == "-1")  # type: ignore[attr-defined]
        await stage.pilot.press("shift+tab", "enter")
        assert given(stage) == [("priority", ("006-cart",), {"priority": -1})]


@pytest.mark.parametrize(("keys", "number"), [(["5", "0"], 50), (["backspace", "minus", "7"], -7)])
async def test_a_priority_can_be_typed(open_app: Opener, keys: list[str], number: int) -> None:
    async with open_app(busy(), size=SMALL) as stage:
        await on(stage, "006-cart", "P", *keys, "enter")
        assert given(stage) == [("priority", ("006-cart",), {"priority": number})]


async def test_a_priority_says_what_it_means_and_must_be_a_number(open_app: Opener) -> None:
    story = Story()
    for ticket in ("001", "002", "003"):
        story.add(ticket)
    async with open_app(story.board, size=SMALL) as stage:
        await on(stage, "003", "P")
        assert "2 of 2 others in the queue would start before it" in dialog(stage)
        await stage.pilot.press("plus")
        await stage.until(lambda: "0 of 2 others" in dialog(stage))
        await stage.pilot.press("backspace", "enter")
        await stage.until(lambda: "say a whole number" in dialog(stage))
        assert stage.port.submitted == []


# Starting over


async def test_starting_over_says_what_is_lost_and_what_stays(open_app: Opener) -> None:
    async with open_app(at_rest(), size=SMALL) as stage:
        await on(stage, TICKET, "R")
        assert isinstance(stage.app.screen, StartOverScreen)
        await stage.until(lambda: "3 files, +4 −71" in dialog(stage))
        for words in (
            "Start 005-export over?",
            "The conversation is left behind (1 try, 4 turns)",
            "The $0.05 spent so far stays spent.",
            "u brings them back, but not the conversation.",
            "Effects stay done: announce; may have happened: publish:orders. The agent is told.",
        ):
            assert words in dialog(stage)
        assert stage.port.reader.asked == [(TICKET, "", "base")]
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.is_on_board)
        assert given(stage) == [("start-over", (TICKET,), {})]


async def test_a_fork_that_starts_over_says_what_it_goes_back_to(open_app: Opener) -> None:
    board = at_rest()
    board.apply(ev.StateChanged("001-rounding.2", NOW, State.PAUSED))
    async with open_app(board, size=SMALL) as stage:
        stage.port.reader = Library(base="how they were when it was [/] forked\x1b")
        await on(stage, "001-rounding.2", "R")
        await stage.until(lambda: "Files go back to how they were when it was [/] forked␛: 3 files" in dialog(stage))
        assert "What was said since the fork is left behind (1 try, 0 turns): the agent begins again" in dialog(stage)
        assert "where it was forked" in dialog(stage)
        assert "the base" not in dialog(stage)


async def test_nothing_is_said_of_where_files_go_before_that_is_known(open_app: Opener) -> None:
    async with open_app(at_rest(), size=SMALL) as stage:
        stage.port.reader = Library(gate=asyncio.Event())
        await on(stage, TICKET, "R")
        assert "Files go back to what it began with: reading …" in dialog(stage)
        stage.port.reader.gate.set()
        await stage.until(lambda: "Files go back to how they were at the beginning: 3 files" in dialog(stage))


async def test_several_that_start_over_go_back_each_to_its_own_beginning(open_app: Opener) -> None:
    async with open_app(at_rest(), size=SMALL) as stage:
        await on(stage, TICKET, "space")
        await on(stage, "007-tax", "space", "R")
        assert "The files of each go back to what it began with." in dialog(stage)


async def test_starting_over_can_be_done_without_knowing_the_files(open_app: Opener) -> None:
    async with open_app(at_rest(), size=SMALL) as stage:
        stage.port.reader = Library(fault=SupervisorError("git [/] failed"))
        await on(stage, TICKET, "R")
        await stage.until(lambda: "What changes is not known: git [/] failed" in dialog(stage))
        await stage.pilot.click("VerbDialog Button")
        await stage.until(lambda: stage.is_on_board)
        assert given(stage) == [("start-over", (TICKET,), {})]


# Questions and reports


async def test_one_interrupt_never_asks_and_several_ask_once(open_app: Opener) -> None:
    async with open_app(busy(), size=SMALL) as stage:
        await stage.pilot.press("i")
        assert given(stage) == [("interrupt", ("001-rounding",), {})]
        await stage.pilot.press("space", "space", "i")
        await stage.until(lambda: "Interrupt 2 tickets?" in stage.text())
        assert len(stage.port.submitted) == 1
        await stage.pilot.press("enter")
        assert stage.port.submitted[1:] == [("interrupt", ("001-rounding", "001-rounding.2"))]


async def test_a_cancel_asks_only_where_something_is_at_work(open_app: Opener) -> None:
    async with open_app(busy(), size=SMALL) as stage:
        await on(stage, "006-cart", "x")
        assert given(stage) == [("cancel", ("006-cart",), {})]
        await on(stage, "001-rounding", "x")
        assert isinstance(stage.app.screen, ConfirmScreen)
        assert "It is at work: its turn stops." in dialog(stage)
        await stage.pilot.press("escape")
        assert len(stage.port.submitted) == 1
        await stage.pilot.press("x", "enter")
        assert stage.port.submitted[1:] == [("cancel", ("001-rounding",))]


async def test_who_waits_for_an_answer_is_not_at_work(open_app: Opener) -> None:
    board = asking()
    board.apply(ev.StateChanged("005-topics", NOW, State.PAUSED))
    async with open_app(board, size=SMALL) as stage:
        await stage.pilot.press("asterisk", "x")
        words = "1 at work, 4 waiting for you, 1 not at work. Turns under way stop."
        await stage.until(lambda: words in dialog(stage))
        await stage.pilot.press("escape", "asterisk")
        await on(stage, "003-docs", "x")
        await stage.until(lambda: "It waits for you: its turn stops." in dialog(stage))


async def test_several_are_reported_ticket_by_ticket(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        await stage.pilot.press("space", "space", "space", "i", "enter")
        told = "interrupt: 2 accepted, 1 refused: 002-images is done: there is nothing to interrupt"
        await stage.until(lambda: notices(stage) == [told])


async def test_an_interrupt_says_what_stops_and_what_is_held_back(open_app: Opener) -> None:
    async with open_app(busy(), size=SMALL) as stage:
        await stage.pilot.press("asterisk", "i")
        await stage.until(lambda: "3 at work: their turns stop. 2 not at work: held back." in dialog(stage))


async def test_of_several_marked_one_that_can_be_stopped_is_asked_for_too(open_app: Opener) -> None:
    async with open_app(busy(), size=SMALL) as stage:
        await on(stage, "002-images", "space")
        await on(stage, "001-rounding", "space", "i")
        await stage.until(lambda: "Interrupt 001-rounding?" in dialog(stage))
        assert "Its turn stops. It rests as paused" in dialog(stage)
        assert "1 more marked is left alone." in dialog(stage)
        assert stage.port.submitted == []
        await stage.pilot.press("enter")
        assert stage.port.submitted == [("interrupt", ("001-rounding",))]
        assert stage.is_on_board


async def test_finished_tickets_are_not_begun_again_among_others(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        await on(stage, "002-images", "space")
        await on(stage, "005-export", "space", "r")
        assert given(stage) == [("resume", ("005-export",), {})]
        told = "resume: 1 accepted, 1 refused: 002-images is done: finished work is begun again only by itself"
        assert notices(stage) == [told]
        await on(stage, "005-export", "space")
        await stage.pilot.press("r")
        assert "Its work is done: another turn in the same session is paid for." in dialog(stage)
        await stage.pilot.press("escape")
        assert len(given(stage)) == 1
        await stage.pilot.press("r", "enter")
        assert given(stage)[1:] == [("resume", ("002-images",), {})]


async def test_a_verb_for_one_ticket_is_refused_for_several(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        await stage.pilot.press("space", "space", "f")
        await stage.until(lambda: notices(stage) == ["fork takes one ticket at a time: 2 are marked"])
        assert "f fork" not in stage.text().splitlines()[-1]


async def test_a_supervisor_that_takes_no_verbs_says_so(open_app: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_app(busy()) as stage:
        monkeypatch.setattr(stage.port, "submit", lambda *_: None)
        await stage.pilot.press("i")
        await stage.until(lambda: len(notices(stage)) == 1)
        assert "001-rounding: the supervisor takes no verbs now" in notices(stage)[0]


async def test_a_later_refusal_is_told_and_stands_in_the_transcript(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        await stage.pilot.press("i")
        stage.board.apply(ev.LettersClosed("001-rounding", NOW, ("l1",), "001-rounding is done [/]", refused=True))
        await stage.until(lambda: "not done: 001-rounding is done [/]" in stage.text())
        assert notices(stage) == ["001-rounding is done [/]"]


async def test_many_later_refusals_are_one_notice(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        for number in range(5):
            stage.board.apply(ev.LettersClosed("007-tax", NOW, (f"l{number}",), "budget: no", refused=True))
        await stage.until(lambda: notices(stage) == ["007-tax: budget: no; and 4 more, see their transcripts"])


# The batch


async def test_starting_is_paused_and_slots_are_changed(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        await stage.pilot.press("p")
        assert "[starting paused]" in stage.text()
        await stage.pilot.press("p")
        assert "[starting paused]" not in stage.text()
        await stage.pilot.press("plus")
        assert (stage.port.slots, "3/5 running" in stage.text()) == (5, True)
        await stage.pilot.press(*["minus"] * 7)
        assert stage.port.slots == 1

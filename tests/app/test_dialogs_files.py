"""The dialogs that look things up: forks and rewinds, what is read late, what is read too late, and undo."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from supervisor.app.screens.confirm import ConfirmScreen
from supervisor.app.screens.fork import ForkScreen
from supervisor.app.screens.rewind import RewindScreen
from supervisor.core import events as ev
from supervisor.core.errors import SupervisorError
from supervisor.core.forks import Fork
from supervisor.core.model import PromptKind
from tests.app.test_dialogs import SMALL, dialog, given, notices, on, typed
from tests.screens.dialog_scenes import POINTS, TICKET, Library, at_rest, hostile_library
from tests.screens.scenes import NOW, busy

if TYPE_CHECKING:
    from supervisor.core.events import Event
    from tests.app.conftest import Opener, Stage

pytestmark = pytest.mark.anyio


def fork(stage: Stage) -> ForkScreen:
    screen = stage.app.screen
    assert isinstance(screen, ForkScreen)
    return screen


def rewind(stage: Stage) -> RewindScreen:
    screen = stage.app.screen
    assert isinstance(screen, RewindScreen)
    return screen


# Forks


async def test_a_fork_from_now(open_app: Opener) -> None:
    async with open_app(at_rest(), size=SMALL) as stage:
        await on(stage, TICKET, "f", *typed("As JSON."), "tab", *typed("JSON"), "tab", *typed("2"), "tab", *typed("30"))
        words = "one call over the copied conversation, about $0.05, and may spend $2.00."
        await stage.until(lambda: words in dialog(stage))
        assert "Effects stay done: announce; may have happened: publish:orders (shared with it)." in dialog(stage)
        await stage.pilot.press("tab", "enter")
        await stage.until(lambda: stage.is_on_board)
        told = {"prompt": "As JSON.", "title": "JSON", "at": "", "files": "now", "budget_usd": 2.0, "max_turns": 30}
        assert given(stage) == [("fork", (TICKET,), told)]


async def test_a_fork_from_an_earlier_place_begins_with_the_files_of_then(open_app: Opener) -> None:
    async with open_app(at_rest(), size=SMALL) as stage:
        await on(stage, TICKET, "f", *typed("Again."))
        await stage.until(lambda: "Done: 14 t" in dialog(stage))
        assert "as of then" not in dialog(stage)
        await stage.pilot.press("shift+tab", "shift+tab", "end", "k")
        await stage.until(lambda: "○ as now ● as of then" in dialog(stage))
        assert "add an exporter beside it." in dialog(stage)
        await stage.pilot.press("ctrl+s")
        told = {"prompt": "Again.", "title": "", "at": "c2", "files": "then"}
        assert given(stage) == [("fork", (TICKET,), told)]


async def test_a_fork_can_take_the_files_of_now_from_an_earlier_place(open_app: Opener) -> None:
    async with open_app(at_rest(), size=SMALL) as stage:
        await on(stage, TICKET, "f", *typed("x"))
        await stage.until(lambda: "Done: 14 t" in dialog(stage))
        await stage.pilot.click("#cuts", offset=(5, 2))
        await stage.until(lambda: "● as of then" in dialog(stage))
        await stage.pilot.click("#files", offset=(4, 0))
        await stage.pilot.press("ctrl+s")
        assert (given(stage)[0][2]["at"], given(stage)[0][2]["files"]) == ("c3", "now")


@pytest.mark.parametrize(
    ("keys", "fault"),
    [
        (["ctrl+s"], "the fork's prompt is blank"),
        (["x", "tab", "tab", *typed("none"), "ctrl+s"], "a fork has a budget if its parent has one"),
        (["x", "tab", "tab", "tab", "q", "ctrl+s"], '"q" is no number of turns'),
    ],
)
async def test_a_fork_that_makes_no_sense_is_refused_in_place(open_app: Opener, keys: list[str], fault: str) -> None:
    async with open_app(at_rest(), size=SMALL) as stage:
        await on(stage, TICKET, "f", *keys)
        await stage.until(lambda: fault in dialog(stage))
        assert stage.port.submitted == []


async def test_a_conversation_that_cannot_be_read_leaves_a_fork_from_now(open_app: Opener) -> None:
    async with open_app(at_rest(), size=SMALL) as stage:
        stage.port.reader = Library(fault=SupervisorError("it has not reached [/] the disk"))
        await on(stage, TICKET, "f", *typed("x"))
        await stage.until(lambda: "it has not reached [/] the disk" in dialog(stage).replace(" files ● as now", ""))
        await stage.pilot.press("ctrl+s")
        assert given(stage)[0][2]["at"] == ""


def _child(stage: Stage, letter: str) -> None:
    """Let the fork be carried out."""
    made = Fork(
        f"{TICKET}.2", TICKET, letter, "s", "p", "c4", "f", "", prompt="x", title="x", budget_usd=1.0, max_turns=None,
        model=None, created=NOW,
    )  # fmt: skip
    stage.board.apply(ev.TicketAdded(made.child, NOW, "x", 4, parent=TICKET))
    stage.board.apply(ev.Forked(made.child, NOW, made, "abc"))
    stage.board.apply(ev.LettersClosed(TICKET, NOW, (letter,), f"forked as {made.child}"))


async def test_the_child_is_selected_when_it_appears(open_app: Opener) -> None:
    async with open_app(at_rest(), size=SMALL) as stage:
        await on(stage, TICKET, "f", *typed("x"), "ctrl+s")
        stage.board.apply(ev.LetterPosted(TICKET, NOW, "l1", "fork", {}))
        _child(stage, "l1")
        await stage.until(lambda: stage.screen.table.cursor_ticket == f"{TICKET}.2")
        assert notices(stage) == [f"forked as {TICKET}.2"]


async def test_the_cursor_stays_where_the_operator_has_gone_meanwhile(open_app: Opener) -> None:
    async with open_app(at_rest(), size=SMALL) as stage:
        stage.board.apply(ev.LetterPosted(TICKET, NOW, "l1", "fork", {}))
        stage.screen.go_to("002-images")
        _child(stage, "l1")
        await stage.until(lambda: notices(stage) == [f"forked as {TICKET}.2"])
        assert stage.screen.table.cursor_ticket == "002-images"


# Rewinds


async def test_a_rewind_shows_its_dry_run_and_takes_back(open_app: Opener) -> None:
    async with open_app(at_rest(), size=SMALL) as stage:
        await on(stage, TICKET, "z")
        await stage.until(lambda: "Would change 1 file, +4 −31" in dialog(stage))
        await stage.pilot.press("j")
        await stage.until(lambda: "Would change 2 files, +4 −71" in dialog(stage))
        for words in (
            'before prompt 2, "Now write the exporter."',
            "Changed by somebody else than the agent",
            "announce ✓ done",
            "f takes it back too",
        ):
            assert words in dialog(stage)
        await stage.pilot.press("enter")
        assert given(stage) == [("rewind", (TICKET,), {"to": "p2", "source": "snapshot"})]
        assert stage.is_on_board


async def test_a_rewind_can_begin_at_any_prompt(open_app: Opener) -> None:
    async with open_app(at_rest(), size=SMALL) as stage:
        stage.port.reader = Library()
        stage.screen.desk.rewind(stage.screen, stage.board[TICKET], "p1")
        await stage.until(lambda: "Would change 3 files" in dialog(stage))
        await stage.pilot.press("enter")
        assert given(stage)[0][2]["to"] == "p1"


async def test_the_list_says_how_many_files_changed_since(open_app: Opener) -> None:
    async with open_app(at_rest(), size=(120, 40)) as stage:
        stage.port.reader = Library(points=(*POINTS[:2], replace(POINTS[2], snapshot="")))
        await on(stage, TICKET, "z")
        await stage.until(lambda: " 2  13:53      2  Now write the exporter." in stage.text().replace("\u2502", ""))
        assert "–  Export orders as CSV" in stage.text()


async def test_the_source_can_be_the_sessions_checkpoint(open_app: Opener) -> None:
    async with open_app(at_rest(), size=SMALL) as stage:
        await on(stage, TICKET, "z")
        await stage.until(lambda: "Would change" in dialog(stage))
        await stage.pilot.press("s")
        await stage.until(lambda: "build/orders.csv not changed by the" in dialog(stage))
        await stage.pilot.press("enter")
        assert given(stage) == [("rewind", (TICKET,), {"to": "p3", "source": "checkpoint"})]


async def test_nothing_is_taken_back_before_its_dry_run_is_read(open_app: Opener) -> None:
    async with open_app(at_rest(), size=SMALL) as stage:
        library = stage.port.reader = Library()
        await on(stage, TICKET, "z")
        await stage.until(lambda: "Would change 1 file" in dialog(stage))
        library.gate = asyncio.Event()
        await stage.pilot.press("j", "enter")
        await stage.until(lambda: "wait for the dry run" in dialog(stage))
        assert stage.port.submitted == []
        library.gate.set()
        await stage.until(lambda: "Would change 2 files" in dialog(stage))
        await stage.pilot.press("enter")
        assert given(stage)[0][2]["to"] == "p2"


async def test_answers_that_come_too_late_are_ignored(open_app: Opener) -> None:
    async with open_app(at_rest(), size=SMALL) as stage:
        library = stage.port.reader = Library()
        await on(stage, TICKET, "z")
        await stage.until(lambda: "Would change 1 file" in dialog(stage))
        first = library.gate = asyncio.Event()
        await stage.pilot.press("j")
        await stage.pilot.press("j")
        await stage.pilot.press("k", "j")
        library.gate = asyncio.Event()
        first.set()
        await stage.until(lambda: library.asked[-1] == (TICKET, "p1", "snapshot"))
        assert [to for _, to, _ in library.asked] == ["p3", "p2", "p1"]
        assert "reading …" in dialog(stage)
        library.gate.set()
        await stage.until(lambda: "Would change 3 files" in dialog(stage))


async def test_an_answer_after_the_dialog_is_gone_does_nothing(open_app: Opener) -> None:
    async with open_app(at_rest(), size=SMALL) as stage:
        library = stage.port.reader = Library(gate=asyncio.Event())
        await on(stage, TICKET, "z", "escape")
        assert library.gate is not None
        library.gate.set()
        await asyncio.gather(*stage.port.tasks)
        await stage.pilot.pause()
        assert stage.is_on_board


async def test_a_dry_run_that_fails_or_forbids_takes_nothing_back(open_app: Opener) -> None:
    async with open_app(at_rest(), size=SMALL) as stage:
        library = stage.port.reader = Library(refusal='effect "deploy" is under way')
        await on(stage, TICKET, "z")
        await stage.until(lambda: 'Not now: effect "deploy" is under way' in dialog(stage))
        await stage.pilot.press("enter")
        library.fault = SupervisorError("no snapshot [/] could be taken")
        await stage.pilot.press("j")
        await stage.until(lambda: "no snapshot [/] could be taken" in dialog(stage))
        await stage.pilot.press("enter")
        await stage.until(lambda: "there is no dry run of this" in dialog(stage))
        assert stage.port.submitted == []


async def test_taking_the_conversation_back_too_is_a_fork_from_before_that_prompt(open_app: Opener) -> None:
    async with open_app(at_rest(), size=SMALL) as stage:
        await on(stage, TICKET, "z")
        await stage.until(lambda: "Would change" in dialog(stage))
        await stage.pilot.press("j", "f")
        await stage.until(lambda: "before prompt 2" in dialog(stage))
        assert isinstance(stage.app.screen, ForkScreen)
        await stage.pilot.press(*typed("Otherwise."), "ctrl+s")
        told = {"prompt": "Otherwise.", "title": "", "at": "p2", "files": "then"}
        assert given(stage) == [("fork", (TICKET,), told)]


async def test_before_the_first_prompt_there_is_no_conversation_to_fork(open_app: Opener) -> None:
    async with open_app(at_rest(), size=SMALL) as stage:
        await on(stage, TICKET, "z", "end")
        await stage.until(lambda: "Would change 3 files" in dialog(stage))
        await stage.pilot.press("f")
        await stage.until(lambda: "start over begins it anew" in dialog(stage))
        assert isinstance(stage.app.screen, RewindScreen)


async def test_hostile_answers_are_literal(open_app: Opener) -> None:
    async with open_app(at_rest(), size=SMALL) as stage:
        stage.port.reader = hostile_library()
        for key in ("f", "z"):
            await on(stage, TICKET, key)
            await stage.until(lambda: "list[str]" in dialog(stage))
            for _ in range(12):
                await stage.pilot.press("j" if key == "z" else "pageup")
                assert not set(stage.text()) & set("\x1b\x07\x00\x9b\u202e\u2066\r\t\ud83d")
            await stage.pilot.press("escape")


# Undo


REWOUND = ev.FilesRewound(TICKET, NOW, "how they were", "snap", left="left")


async def undo(
    open_app: Opener, *events: Event
) -> tuple[list[tuple[str, tuple[str, ...], dict[str, object]]], list[str]]:
    """Return what the key submits, and what it says."""
    async with open_app(busy()) as stage:
        stage.port.reader = Library(happened=events)
        await on(stage, TICKET, "u")
        await asyncio.gather(*stage.port.tasks)
        return given(stage), notices(stage)


async def test_undo_brings_the_files_back(open_app: Opener) -> None:
    for event in (REWOUND, ev.StartedOver(TICKET, NOW, "snap")):
        done, said = await undo(open_app, event)
        assert done == [("rewind", (TICKET,), {"source": "undo", "to": "snap"})]
        assert said == []


async def test_undo_of_nothing_says_so(open_app: Opener) -> None:
    done, said = await undo(open_app)
    assert (done, said) == ([], [f"no files of {TICKET} were taken back: there is nothing to undo"])


async def test_undo_asks_if_the_agent_has_worked_since(open_app: Opener) -> None:
    worked = ev.PromptStored(TICKET, NOW, 1, "p9", PromptKind.MESSAGE, "more")
    async with open_app(busy()) as stage:
        stage.port.reader = Library(happened=(REWOUND, worked))
        await on(stage, TICKET, "u")
        await stage.until(lambda: isinstance(stage.app.screen, ConfirmScreen))
        await stage.until(lambda: "The agent has worked on 1 prompt since." in dialog(stage))
        assert stage.port.submitted == []
        await stage.pilot.press("enter")
        assert given(stage) == [("rewind", (TICKET,), {"source": "undo", "to": "snap"})]


async def test_undo_is_offered_while_it_is_fresh(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        await on(stage, TICKET)
        assert "u undo" not in stage.text().splitlines()[-1]
        stage.board.apply(REWOUND)
        await stage.until(lambda: "u undo" in stage.text().splitlines()[-1])
        stage.board.apply(ev.PromptStored(TICKET, NOW, 1, "p9", PromptKind.MESSAGE, "more"))
        await stage.until(lambda: "u undo" not in stage.text().splitlines()[-1])


async def test_undo_does_not_touch_files_at_work(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        await on(stage, "001-rounding", "u")
        assert "interrupt it first" in notices(stage)[0]
        assert stage.port.tasks == [] or stage.port.submitted == []

"""A ticket's own screen: its views, what is read when, the verbs' keys, and the ways out."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from supervisor.app.screens.inbox import InboxScreen
from supervisor.app.screens.ledger import LedgerScreen
from supervisor.app.screens.page import PageScreen
from supervisor.app.screens.rewind import RewindScreen
from supervisor.app.screens.tell import TellScreen
from supervisor.app.screens.ticket import TicketScreen
from supervisor.core import events as ev
from supervisor.core.changes import ChangeKind, FileChange
from supervisor.core.effects import EffectState
from supervisor.core.errors import SupervisorError
from supervisor.core.model import Mode, State
from tests.screens.effect_scenes import settled as after_decision
from tests.screens.effect_scenes import stuck
from tests.screens.scenes import NOW, Story, busy
from tests.screens.ticket_scenes import ATTEMPTS, Shelf, hostile_shelf, never

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.app.conftest import Opener, Stage
    from widgets.diff_pane import DiffPane

pytestmark = pytest.mark.anyio
TICKET = "001-rounding"
FORBIDDEN = set("\x1b\x07\x00\x9b\u202e\u2066\ud83d\r\t")


async def at(stage: Stage, *keys: str, shelf: Shelf | None = None) -> TicketScreen:
    """Open the first ticket with something to read, press keys there, and wait until all was read."""
    stage.port.reader = shelf or Shelf()
    await stage.pilot.press("enter", *keys)
    await settled(stage)
    return ticket_screen(stage)


def ticket_screen(stage: Stage) -> TicketScreen:
    screen = next(screen for screen in stage.app.screen_stack if isinstance(screen, TicketScreen))
    assert isinstance(screen, TicketScreen)
    return screen


def is_on_top(stage: Stage, screen: TicketScreen) -> bool:
    return stage.app.screen is screen


async def settled(stage: Stage) -> None:
    """Wait until everything that was asked for is on the screen."""
    for _ in range(4):
        await stage.pilot.pause()
        stage.frame()
    await stage.pilot.pause()


@contextmanager
def written(stage: Stage) -> Iterator[list[object]]:
    """Collect what is written of the screen on top; what those below it draw meanwhile goes nowhere."""
    writes: list[object] = []
    original = stage.app._display

    def display(screen: object, renderable: object) -> None:
        if screen is stage.app.screen:
            writes.append(renderable)
        original(screen, renderable)  # type: ignore[arg-type]

    stage.app._display = display  # type: ignore[method-assign]
    yield writes
    stage.app._display = original  # type: ignore[method-assign]


def tab_line(stage: Stage) -> str:
    return stage.text().splitlines()[3]


def footer(stage: Stage) -> str:
    return stage.text().splitlines()[-1]


# Header and tabs


async def test_the_header_spells_the_sum_out(open_app: Opener) -> None:
    async with open_app(stuck(), size=(120, 30)) as stage:
        await at(stage)
        name, money, now = stage.text().splitlines()[:3]
        assert name.startswith(" 001-rounding  Discounts round the wrong way")
        assert name.endswith("● running   try 1 (fresh)")
        assert "budget $1.00   spent $0.21 (try 1 ≈$0.13 + try 2 $0.08)   headroom $0.79   reserve $0.05" in money
        assert now.startswith(" Edit tinyshop/receipt.py")


async def test_a_narrow_header_keeps_the_amounts(open_app: Opener) -> None:
    async with open_app(stuck(), size=(80, 24)) as stage:
        await at(stage)
        assert "spent $0.21 (≈$0.13 + $0.08)   headroom $0.79   reserve $0.05" in stage.text()


async def test_without_a_budget_the_header_says_so(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        stage.screen.go_to("008-docs")
        await at(stage)
        assert "no budget of its own   spent ≈$0.03" in stage.text()


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("1", "▸Transcript"),
        ("2", "▸Attempts 2"),
        ("3", "▸Effects 1"),
        ("4", "▸Changes 4"),
        ("5", "▸Checkpoints 3"),
        ("6", "▸Ticket"),
        ("d", "▸Changes 4"),
    ],
)
async def test_digits_go_to_a_view(open_app: Opener, key: str, words: str) -> None:
    async with open_app(stuck()) as stage:
        screen = await at(stage, key)
        assert words in tab_line(stage)
        assert stage.has_focus(screen.tab.target)
        assert [tab.display for tab in screen.tabs].count(True) == 1


async def test_left_and_right_go_round(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        screen = await at(stage)
        seen = []
        for key in ("right", "right", "left", "left", "left"):
            await stage.pilot.press(key)
            seen.append(screen.tab.NAME)
            assert stage.has_focus(screen.tab.target)
        assert seen == ["Attempts", "Effects", "Attempts", "Transcript", "Ticket"]


async def test_a_click_goes_to_a_view(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        screen = await at(stage)
        await stage.pilot.click("TabBar", offset=(tab_line(stage).index("Effects"), 0))
        assert screen.tab.NAME == "Effects"
        await stage.pilot.click("TabBar", offset=(tab_line(stage).index("Transcript"), 0))
        assert screen.tab.NAME == "Transcript"


async def test_d_opens_the_changes_at_once(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        stage.port.reader = Shelf()
        await stage.pilot.press("d")
        await settled(stage)
        assert "▸Changes 4" in tab_line(stage)
        await stage.pilot.press("escape")
        assert stage.is_on_board


@pytest.mark.parametrize("key", ["1", "2", "3", "4", "5", "6"])
async def test_escape_leads_back_from_every_view(open_app: Opener, key: str) -> None:
    async with open_app(stuck()) as stage:
        await at(stage, key)
        await stage.pilot.press("escape")
        assert stage.is_on_board
        assert stage.has_focus(stage.screen.table)


# Reading and its cost


async def test_files_are_read_only_when_they_are_looked_at(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        shelf = Shelf()
        await at(stage, shelf=shelf)
        assert shelf.reads == ["attempts"]
        await stage.pilot.press("4")
        await settled(stage)
        assert shelf.reads == ["attempts", "changes base", "diff docs/discounts.png"]


async def test_they_are_read_again_when_the_ticket_moves_but_not_more_often_than_every_two_seconds(
    open_app: Opener,
) -> None:
    async with open_app(stuck()) as stage:
        shelf = Shelf()
        await at(stage, "4", shelf=shelf)

        async def after(seconds: float, *, speaks: bool) -> int:
            shelf.reads.clear()
            stage.clock.now += seconds
            if speaks:
                stage.board.apply(ev.ToolReturned(TICKET, stage.clock.now, "x", "done"))
            await settled(stage)
            return shelf.reads.count("changes base")

        assert await after(1.0, speaks=True) == 0
        assert await after(1.0, speaks=False) == 1
        assert await after(10.0, speaks=False) == 0
        assert await after(0.0, speaks=True) == 1
        await stage.pilot.press("2")
        assert await after(10.0, speaks=True) == 0


async def test_while_it_is_read_it_says_so(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        shelf = Shelf(gate=never())
        for key in ("2", "4", "5"):
            await at(stage, key, shelf=shelf)
            assert "reading …" in stage.text()
            await stage.pilot.press("escape")


@pytest.mark.parametrize("key", ["2", "4", "5"])
async def test_what_cannot_be_read_is_told(open_app: Opener, key: str) -> None:
    async with open_app(stuck()) as stage:
        await at(stage, key, shelf=Shelf(fault=SupervisorError("the disk [/b] is \x1b gone")))
        assert "the disk [/b] is ␛ gone" in stage.text()


async def test_an_answer_that_comes_after_the_screen_is_left_harms_nothing(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        gate = never()
        await at(stage, "4", shelf=Shelf(gate=gate))
        await stage.pilot.press("escape")
        gate.set()
        await settled(stage)
        assert stage.is_on_board


async def test_at_rest_nothing_is_drawn(open_app: Opener) -> None:
    story = Story()
    story.add(TICKET, "Discounts")
    story.start(TICKET)
    story.move(TICKET, State.PAUSED)
    async with open_app(story.board) as stage:
        for key in ("1", "2", "3", "4", "5", "6"):
            await at(stage, key)
            await stage.pilot.pause(0.1)
            with written(stage) as writes:
                for _ in range(5):
                    stage.clock.now += 1
                    await settled(stage)
            assert writes == [], key
            await stage.pilot.press("escape")


async def test_what_other_tickets_do_draws_nothing_here(open_app: Opener) -> None:
    story = Story()
    for ticket in (TICKET, "002-images"):
        story.add(ticket)
        story.start(ticket)
    story.move(TICKET, State.PAUSED)
    async with open_app(story.board) as stage:
        for key in ("1", "2", "3", "4", "5", "6"):
            await at(stage, key)
            await stage.pilot.pause(0.1)
            with written(stage) as writes:
                story.say("002-images", "I do something.")
                await settled(stage)
            assert writes == [], key
            await stage.pilot.press("escape")


# Transcript


async def test_the_transcript_is_live(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        await at(stage)
        assert "✎ tinyshop/receipt.py" in stage.text()
        stage.board.apply(ev.AgentSpoke(TICKET, NOW, "Now the receipts."))
        await stage.until(lambda: "› Now the receipts." in stage.text())


async def test_a_search_takes_escape_first_and_letters_for_itself(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        screen = await at(stage, "slash", *"mi2")
        assert screen.tab.NAME == "Transcript"
        assert stage.port.submitted == []
        await stage.pilot.press("escape")
        assert is_on_top(stage, screen)
        assert stage.has_focus(screen.tab.target)
        await stage.pilot.press("escape")
        assert stage.is_on_board


# Attempts


async def test_attempts_stand_newest_first_with_what_they_cost(open_app: Opener) -> None:
    async with open_app(stuck(), size=(160, 30)) as stage:
        await at(stage, "2")
        lines = stage.text().splitlines()
        assert lines[4].split()[:5] == ["TRY", "MODE", "SESSION", "STARTED", "TURNS"]
        assert "resume" in lines[5]
        assert "● under way" in lines[5]
        assert "≈$0.13" in lines[6]
        assert "crashed: the agent exited with 1" in lines[6]


async def test_enter_opens_every_field_and_y_copies_it(open_app: Opener) -> None:
    async with open_app(stuck(), size=(100, 40)) as stage:
        screen = await at(stage, "2", "j", "enter")
        await stage.until(lambda: isinstance(stage.app.screen, PageScreen))
        for words in ("≈$0.1300", "the stream ended before the result", "socket hang up", "exit code", "$0.85"):
            assert words in stage.text()
        await stage.pilot.press("y")
        assert "terminal reason: aborted_tools" in stage.app.clipboard
        assert "Error: socket hang up" in stage.app.clipboard
        await stage.pilot.press("escape")
        assert is_on_top(stage, screen)
        assert stage.has_focus(screen.tab.target)


async def test_a_new_attempt_appears(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        shelf = Shelf(tries=ATTEMPTS[:1])
        await at(stage, "2", shelf=shelf)
        assert "▸Attempts 1" in tab_line(stage)
        shelf.tries = ATTEMPTS
        stage.clock.now += 3
        stage.board.apply(ev.AttemptStarted(TICKET, NOW, 2, Mode.RESUME, "5e0c"))
        await settled(stage)
        assert "▸Attempts 2" in tab_line(stage)


# Effects


async def test_enter_on_an_effect_goes_to_its_card_and_back(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        screen = await at(stage, "3")
        assert "● claimed" in stage.text()
        await stage.pilot.press("enter")
        assert isinstance(stage.app.screen, LedgerScreen)
        assert stage.app.screen.selected is not None
        assert stage.app.screen.selected.record.key == "001-rounding:comment"
        await stage.pilot.press("escape")
        assert is_on_top(stage, screen)


async def test_an_effect_that_waits_is_opened_where_it_can_be_answered(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        stage.screen.go_to("003-deploy")
        screen = await at(stage, "3")
        assert footer(stage).startswith(" a answer")
        await stage.pilot.press("enter")
        assert isinstance(stage.app.screen, InboxScreen)
        await stage.pilot.press("enter")
        assert is_on_top(stage, screen)


async def test_a_fork_sees_what_its_parent_wanted_done(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        stage.screen.go_to("001-rounding.2")
        await at(stage, "3")
        assert "001-rounding:comment" in stage.text()


async def test_a_ticket_without_effects_says_so(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        await at(stage, "3")
        assert "▸Effects 0" in tab_line(stage)
        assert "No effect was asked for yet." in stage.text()


# Changes


def pane(stage: Stage) -> DiffPane:
    return stage.app.screen.query_one("DiffPane")  # type: ignore[return-value]


async def test_files_and_diffs(open_app: Opener) -> None:
    async with open_app(stuck(), size=(120, 30)) as stage:
        await at(stage, "4")
        assert "against the base" in stage.text()
        assert "4 files  +5 −5" in stage.text()
        assert "▸ A docs/discounts.png" in stage.text()
        assert "Binary files" in stage.text()
        await stage.pilot.press("j")
        await settled(stage)
        assert "+4 −2" in stage.line("▸ M tinyshop/pricing.py")
        assert " 2 + from tinyshop import money" in stage.text()
        assert "14 -     return sum((to_cents(price * factor)" in stage.text()
        await stage.pilot.press("j")
        await settled(stage)
        assert "R tinyshop/receipt.py" in stage.text()
        assert "rename from tinyshop/bill.py" in stage.text()


async def test_going_back_to_a_file_does_not_flicker(open_app: Opener) -> None:
    async with open_app(stuck(), size=(120, 30)) as stage:
        await at(stage, "4", "j")
        await stage.pilot.press("j")
        await settled(stage)
        assert isinstance(stage.port.reader, Shelf)
        stage.port.reader.gate = never()
        await stage.pilot.press("k")
        await settled(stage)
        assert " 2 + from tinyshop import money" in stage.text()


async def test_t_turns_to_what_changed_since_the_last_prompt(open_app: Opener) -> None:
    async with open_app(stuck(), size=(120, 30)) as stage:
        shelf = Shelf()
        await at(stage, "4", shelf=shelf)
        await stage.pilot.press("t")
        await settled(stage)
        assert 'since prompt 2, "Go on where you left off."' in stage.text()
        assert "changes s2" in shelf.reads
        assert "1 file  +0 −2" in stage.text()
        assert "t against base" in footer(stage)
        await stage.pilot.press("t")
        await settled(stage)
        assert "against the base" in stage.text()


async def test_the_diff_scrolls_by_pages_while_the_list_has_the_keys(open_app: Opener) -> None:
    shelf = Shelf()
    shelf.diffs["docs/discounts.png"] = "@@ -0,0 +1,200 @@\n" + "".join(f"+line {n}\n" for n in range(200))
    async with open_app(stuck(), size=(100, 24)) as stage:
        screen = await at(stage, "4", shelf=shelf)
        page = pane(stage).scrollable_content_region.height - 1
        for key, top in (("space", page), ("pagedown", 2 * page), ("pageup", page), ("J", page + 1), ("K", page)):
            await stage.pilot.press(key)
            assert pane(stage).scroll_offset.y == top, key
        assert stage.has_focus(screen.tab.target)
        await stage.pilot.press("tab", "end")
        assert "line 199" in stage.text()
        assert stage.has_focus(pane(stage))
        await stage.pilot.press("tab")
        assert stage.has_focus(screen.tab.target)


async def test_a_diff_that_grows_stays_where_it_was_scrolled_to(open_app: Opener) -> None:
    shelf = Shelf()
    first = "".join(f"+line {n}\n" for n in range(200))
    shelf.diffs["docs/discounts.png"] = f"@@ -0,0 +1,200 @@\n{first}"
    async with open_app(stuck(), size=(100, 24)) as stage:
        await at(stage, "4", "space", shelf=shelf)
        await stage.pilot.press("space")
        top = pane(stage).scroll_offset.y
        shelf.diffs["docs/discounts.png"] = f"@@ -0,0 +1,201 @@\n{first}+and one more\n"
        stage.clock.now += 3
        stage.board.apply(ev.ToolReturned(TICKET, NOW, "x", "done"))
        await settled(stage)
        assert pane(stage).scroll_offset.y == top > 0
        await stage.pilot.press("tab", "end")
        assert "and one more" in stage.text()


async def test_a_ticket_without_a_tree_has_no_changes(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        stage.screen.go_to("006-cart")
        await at(stage, "4")
        assert "no working tree yet" in stage.text()


async def test_no_changes_are_told(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        await at(stage, "4", shelf=Shelf(files=()))
        assert "no changes" in stage.text()


async def test_a_thousand_files_and_a_huge_diff_keep_the_keys_live(open_app: Opener) -> None:
    files = tuple(FileChange(f"f{n:04}.py", ChangeKind.ADDED, 9000, 0) for n in range(1000))
    diffs = {files[1].path: "@@ -0,0 +1,9000 @@\n" + ("+" + "x" * 60 + "\n") * 6600}
    async with open_app(stuck(), size=(80, 24)) as stage:
        await at(stage, "4", "j", shelf=Shelf(files=files, diffs=diffs))
        await stage.pilot.press("tab", "end")
        assert "more lines are not shown" in stage.text()
        await stage.pilot.press("tab", "end")
        assert "f0999.py" in stage.text()


# Checkpoints


async def test_checkpoints_say_what_changed_since(open_app: Opener) -> None:
    async with open_app(stuck(), size=(120, 30)) as stage:
        await at(stage, "5")
        lines = stage.text().splitlines()
        assert "3  message  Use semicolons." in lines[5]
        assert lines[5].endswith("1 file  +4 −31")
        assert "1  task     Export orders as CSV" in lines[7]


async def test_enter_on_a_checkpoint_opens_the_rewind_there(open_app: Opener) -> None:
    async with open_app(stuck(), size=(120, 40)) as stage:
        stage.screen.go_to("005-export")
        screen = await at(stage, "5", "j", "enter")
        assert isinstance(stage.app.screen, RewindScreen)
        await settled(stage)
        assert "▸   2" in stage.line("Now write the exporter.")
        await stage.pilot.press("escape")
        assert is_on_top(stage, screen)


# Facts


async def test_the_facts_name_prompt_limits_permissions_and_environment(open_app: Opener) -> None:
    async with open_app(stuck(), size=(130, 70)) as stage:
        await at(stage, "6")
        for words in (
            "Fix pricing.py and its tests, and say what you changed.",
            "budget         $1.00",
            "verify  pytest -q   (at most 600 s, 2 rounds)",
            "allowed tools  Edit, Bash(pytest:*)",
            "Speak English. Commit nothing.",
            "branch       supervise/tinyshop/001-rounding",
            "agent's pid  5200",
            "/work/shop/.supervisor/logs/001-rounding/verify.log",
        ):
            assert words in stage.text(), words


async def test_the_facts_stay_where_they_were_scrolled_to(open_app: Opener) -> None:
    async with open_app(stuck(), size=(80, 24)) as stage:
        screen = await at(stage, "6", "space")
        assert screen.tab.target.scroll_offset.y > 0
        top = screen.tab.target.scroll_offset.y
        stage.board.apply(ev.LimitsChanged(TICKET, NOW, 2.0, 5))
        await settled(stage)
        assert screen.tab.target.scroll_offset.y == top
        await stage.pilot.press("home")
        await stage.until(lambda: "$2.00" in stage.text())


async def test_a_ticket_the_file_does_not_name_any_more_still_has_facts(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        await at(stage, "6", shelf=Shelf(spec_found=None))
        assert "Environment" in stage.text()
        assert "Prompt" not in stage.text()


# Verbs


async def test_a_verb_is_for_this_ticket_alone_whatever_is_marked(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        await stage.pilot.press("space", "space", "home")
        await at(stage)
        await stage.pilot.press("i")
        assert stage.port.submitted == [("interrupt", (TICKET,))]
        await stage.pilot.pause()
        assert stage.text().splitlines()[2].startswith(" interrupt …")


async def test_a_verb_with_a_dialog_comes_back_here(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        screen = await at(stage, "2")
        await stage.pilot.press("m")
        assert isinstance(stage.app.screen, TellScreen)
        await stage.pilot.press(*"hello", "ctrl+s")
        assert stage.port.submitted == [("message", (TICKET,))]
        assert is_on_top(stage, screen)
        assert stage.has_focus(screen.tab.target)


async def test_a_verb_that_does_not_apply_says_why(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        await at(stage, "r")
        assert stage.port.submitted == []
        await stage.until(lambda: "only a resting ticket" in stage.text())


async def test_the_footer_shows_what_applies(open_app: Opener) -> None:
    async with open_app(stuck(), size=(200, 30)) as stage:
        await at(stage)
        assert "i interrupt" in footer(stage)
        assert "r resume" not in footer(stage)
        stage.board.apply(ev.StateChanged(TICKET, NOW, State.PAUSED, detail="interrupted by you"))
        await stage.until(lambda: "i interrupt" not in footer(stage))
        assert "r resume" not in footer(stage), "its effect has not ended"
        running = stage.board.effect(f"{TICKET}:comment")
        assert running is not None
        stage.board.show_effect(after_decision(running.record, EffectState.DONE))
        await stage.until(lambda: "r resume" in footer(stage))


async def test_answer_and_inbox_and_ledger_open_from_here(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        stage.screen.go_to("003-deploy")
        screen = await at(stage)
        for key, kind in (("a", InboxScreen), ("exclamation_mark", InboxScreen), ("e", LedgerScreen)):
            await stage.pilot.press(key)
            assert isinstance(stage.app.screen, kind)
            await stage.pilot.press("escape")
            assert is_on_top(stage, screen)


async def test_another_ticket_chosen_in_the_inbox_leads_to_the_board(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        await at(stage, "exclamation_mark")
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.is_on_board)
        assert stage.screen.table.cursor_ticket == "003-deploy"


async def test_n_goes_on_to_the_next_that_needs_you(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        await at(stage, "2", "n")
        await stage.until(lambda: "003-deploy" in stage.text().splitlines()[0])
        assert stage.screen.table.cursor_ticket == "003-deploy"
        assert len(stage.app.screen_stack) == 2
        await stage.pilot.press("escape")
        assert stage.is_on_board


async def test_help_and_palette_open_over_it(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        screen = await at(stage, "question_mark")
        assert not is_on_top(stage, screen)
        await stage.pilot.press("escape")
        assert is_on_top(stage, screen)
        await stage.pilot.press("ctrl+p", *"interrupt 001")
        await stage.until(lambda: stage.line("interrupt 001-rounding") != "")
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.port.submitted == [("interrupt", (TICKET,))])


# What may be in the way


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_nothing_hostile_reaches_the_terminal(open_app: Opener, size: tuple[int, int]) -> None:
    async with open_app(stuck(), size=size) as stage:
        shelf = hostile_shelf()
        for key in ("1", "2", "3", "4", "5", "6"):
            await at(stage, key, shelf=shelf)
            for _ in range(3):
                assert not set(stage.text()) & FORBIDDEN
                await stage.pilot.press("j", "j", "j", "j")
                await settled(stage)
            await stage.pilot.press("enter")
            await settled(stage)
            assert not set(stage.text()) & FORBIDDEN
            while not stage.is_on_board:
                await stage.pilot.press("escape")


@pytest.mark.parametrize("size", [(1, 1), (5, 3), (20, 4), (300, 5), (10, 80)])
async def test_no_size_is_too_small(open_app: Opener, size: tuple[int, int]) -> None:
    async with open_app(stuck(), size=size) as stage:
        await at(stage)
        for key in ("2", "3", "4", "j", "5", "6", "1"):
            await stage.pilot.press(key)
            await settled(stage)
        await stage.pilot.resize_terminal(80, 24)
        await stage.until(lambda: "001-rounding" in stage.text())


async def test_a_resize_fits_every_view(open_app: Opener) -> None:
    async with open_app(stuck(), size=(80, 24)) as stage:
        for key in ("2", "4", "5", "6"):
            await at(stage, key)
            await stage.pilot.resize_terminal(140, 40)
            await settled(stage)
            assert max(map(len, stage.text().splitlines())) <= 140
            await stage.pilot.resize_terminal(80, 24)
            await settled(stage)
            assert max(map(len, stage.text().splitlines())) <= 80
            await stage.pilot.press("escape")


async def test_a_long_past_is_told_in_the_header_as_far_as_there_is_room(open_app: Opener) -> None:
    tries = tuple(replace(ATTEMPTS[0], number=n, cost_usd=0.11) for n in range(1, 30))
    async with open_app(stuck(), size=(120, 24)) as stage:
        await at(stage, shelf=Shelf(tries=tries))
        assert "(… + ≈$0.11 + ≈$0.11" in stage.text()
        assert "reserve $0.05" in stage.text()

"""The lists of effects: what stands where, what is drawn when, and words that broke screens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from supervisor.app.screens.decide import DecideScreen
from supervisor.app.screens.inbox import InboxScreen
from supervisor.app.screens.ledger import LedgerScreen
from supervisor.core import events as ev
from supervisor.core.effects import EffectState
from supervisor.core.model import State, Why
from supervisor.core.rulings import DecisionVerb
from supervisor.store.owner import this_process
from tests.app.test_effects import dialog, effects, only_ruling
from tests.app.test_frames import painted
from tests.app.test_hostile import FORBIDDEN
from tests.screens.effect_scenes import (
    ASKED,
    hostile_effects,
    nothing_waits,
    record,
    settled,
    stuck,
    view,
)
from tests.screens.scenes import HOSTILE, NOW, Story

if TYPE_CHECKING:
    from supervisor.core.payloads import Json
    from tests.app.conftest import Opener

pytestmark = pytest.mark.anyio
WIDE = (120, 40)


# The list


async def test_the_cursor_follows_its_effect(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        await stage.pilot.press("exclamation_mark", "j")
        stage.board.show_effect(view(record("001-rounding", "older", EffectState.UNRESOLVED, settled_at=NOW - 900)))
        stage.frame()
        await stage.pilot.pause()
        assert effects(stage).selected is stage.board.effect(ASKED.key)
        assert "010-mail" in stage.line("▸")
        assert "001-rounding" in stage.text().splitlines()[2]


async def test_effects_stand_before_tickets_and_the_oldest_first(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        await stage.pilot.press("exclamation_mark")
        await stage.pilot.pause()
        rows = [line.split() for line in stage.text().splitlines()[2:7]]
        names = [next(word for word in row if word[:1] == "0") for row in rows]
        assert names == ["003-deploy", "010-mail", "005-export", "008-docs", "007-tax"]


async def test_a_settled_effect_keeps_its_place_before_older_tickets(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        await stage.pilot.press("exclamation_mark", "j")
        stage.board.apply(ev.StateChanged("008-docs", NOW, State.QUEUED))
        stage.board.apply(ev.StateChanged("008-docs", NOW - 9000, State.NEEDS_YOU, Why.LIMIT))
        stage.board.show_effect(settled(ASKED, EffectState.GRANTED))
        stage.frame()
        await stage.until(lambda: "◌ granted" in stage.line("▸"))
        assert "010-mail" in stage.text().splitlines()[3]


async def test_a_click_selects_and_a_double_click_goes_there(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        await stage.pilot.press("exclamation_mark")
        await stage.pilot.click(effects(stage).items, offset=(10, 2))
        assert effects(stage).selected is stage.board.effect(ASKED.key)
        await stage.pilot.click(effects(stage).items, offset=(10, 3), times=2)
        assert stage.is_on_board
        assert stage.screen.table.cursor_ticket == "005-export"


async def test_tab_scrolls_the_card_of_a_huge_payload(open_app: Opener) -> None:
    board = stuck()
    huge: dict[str, Json] = {f"field{n}": "x" * 50 for n in range(5000)}
    huge["big"] = "line\n" * 200_000
    board.show_effect(view(record("001-rounding", "big", EffectState.UNRESOLVED, huge, settled_at=NOW - 900)))
    async with open_app(board, size=(80, 24)) as stage:
        await stage.pilot.press("exclamation_mark", "tab")
        card = effects(stage).card
        assert card.has_focus
        assert len(card._lines) < 1000
        await stage.pilot.press("end")
        await stage.until(lambda: "log" in stage.text() and "claimed → unresolved" in stage.text())
        await stage.pilot.press("home", "j", "tab")
        assert card.scroll_offset.y == 1
        assert effects(stage).items.has_focus


async def test_an_empty_inbox_and_an_empty_ledger_say_so(open_app: Opener) -> None:
    async with open_app(nothing_waits()) as stage:
        assert "needs you" not in stage.text().splitlines()[-1]
        for key, words in (("a", "Nothing needs you."), ("e", "No ticket has asked for an effect yet.")):
            await stage.pilot.press(key)
            await stage.until(lambda words=words: words in stage.text())  # type: ignore[misc]
            await stage.pilot.press("1", "j", "k", "end", "enter", "tab", "escape")
            assert stage.is_on_board
        assert stage.port.rulings == []


# The ledger


async def test_the_ledger_lists_all_effects_by_key_with_the_same_answers(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        await stage.pilot.press("e")
        await stage.pilot.pause()
        assert isinstance(stage.app.screen, LedgerScreen)
        assert "EFFECTS  6" in stage.text()
        assert "✓ done" in stage.line("002-images:upload")
        await stage.pilot.press("j", "1")
        await stage.until(lambda: "002-images:upload is done: it" in stage.text())
        await stage.pilot.press("j", "j", "3", "w", "enter")
        ruling, once_more = only_ruling(stage)
        assert (ruling.key, ruling.verb, once_more) == ("004-search:reindex", DecisionVerb.GRANT, True)
        await stage.pilot.press("escape")
        assert stage.is_on_board


async def test_a_claim_without_proof_is_taken_away_by_name_only(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        await stage.pilot.press("e", "7", "w", "enter", *"comment", "enter")
        assert only_ruling(stage)[0].verb is DecisionVerb.FENCE


async def test_our_own_run_says_so_and_counts(open_app: Opener) -> None:
    board = stuck()
    running = record("001-rounding", "comment", EffectState.CLAIMED, claimed_at=NOW - 5, owner=this_process())
    board.show_effect(view(running, owner_dead=False))
    async with open_app(board, size=WIDE) as stage:
        await stage.pilot.press("e")
        await stage.until(lambda: "by this supervisor (pid" in stage.text() and "running for 0:05" in stage.text())
        stage.clock.now += 1
        await stage.until(lambda: "running for 0:06" in stage.text())


# Frames, palette, hostile words


async def test_an_effect_that_changed_is_drawn_by_the_next_frame(open_app: Opener) -> None:
    async with open_app(nothing_waits()) as stage:
        stage.board.show_effect(view(record("gone", "deploy", EffectState.UNRESOLVED)))
        await stage.until(lambda: "! needs you 1" in stage.text().splitlines()[-1])


async def test_an_inbox_at_rest_is_drawn_only_when_its_ages_change(open_app: Opener) -> None:
    story = Story()
    story.add("001", "t")
    story.start("001")
    story.move("001", State.NEEDS_YOU, why=Why.UNRESOLVED_EFFECT)
    story.board.show_effect(view(record("001", "deploy", EffectState.UNRESOLVED)))
    async with open_app(story.board) as stage:
        await stage.pilot.press("exclamation_mark")
        await stage.pilot.pause(0.2)
        with painted(stage) as writes:
            for _ in range(59):
                stage.clock.now += 1
                stage.frame()
                await stage.pilot.pause()
            assert writes == []
            stage.clock.now += 1
            await stage.until(lambda: "5m" in stage.line("▸"))


async def test_a_running_ticket_behind_the_inbox_does_not_disturb_it(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        await stage.pilot.press("exclamation_mark", "j")
        stage.board.apply(ev.StateChanged("001-rounding", NOW, State.DONE, detail="verified"))
        stage.frame()
        await stage.pilot.press("escape")
        await stage.until(lambda: "✓ done" in stage.line("001-rounding "))


async def test_the_palette_offers_the_answers(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        await stage.pilot.press("exclamation_mark", "ctrl+p", *"abandon")
        await stage.until(lambda: stage.line("abandon 003-deploy:deploy") != "")
        await stage.pilot.press("enter")
        await stage.until(lambda: isinstance(stage.app.screen, DecideScreen))


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (30, 10), (1, 1)])
async def test_nothing_hostile_reaches_the_terminal(open_app: Opener, size: tuple[int, int]) -> None:
    async with open_app(hostile_effects(), size=size) as stage:
        looks = (["tab", "end", "tab"], *(["3", "escape", "j"] for _ in HOSTILE))
        for keys in (["exclamation_mark"], *looks, ["e", "e"], *(["j"] for _ in HOSTILE), ["e"]):
            for key in keys:
                await stage.pilot.press(key)
                assert not set(stage.text()) & FORBIDDEN
        assert stage.port.stops == 0


async def test_markup_in_effects_is_literal(open_app: Opener) -> None:
    async with open_app(hostile_effects(), size=WIDE) as stage:
        await stage.pilot.press("exclamation_mark")
        for text in HOSTILE[:3]:
            await stage.until(lambda text=text: f'"{text}' in stage.text())  # type: ignore[misc]
            assert f"why: {text}" in stage.text()
            assert f"evidence: {text} seen" in stage.text()
            await stage.pilot.press("4")
            await stage.until(lambda text=text: f"deploy ({text} {text}"[:30] in dialog(stage))  # type: ignore[misc]
            await stage.pilot.press("escape", "j")


async def test_the_inbox_opens_over_a_ticket_that_is_gone(open_app: Opener) -> None:
    board = nothing_waits()
    board.show_effect(view(record("900-gone", "deploy", EffectState.UNRESOLVED)))
    async with open_app(board) as stage:
        await stage.pilot.press("exclamation_mark", "enter")
        assert isinstance(stage.app.screen, InboxScreen)

"""Effects under an operator's fingers: found, understood and settled, and nothing decided by accident."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from supervisor.app.screens.decide import DecideScreen
from supervisor.app.screens.items import ItemsScreen
from supervisor.core import events as ev
from supervisor.core.effects import EffectState
from supervisor.core.model import Mode, State, Why
from supervisor.core.rulings import DecisionVerb
from tests.screens.effect_scenes import (
    ASKED,
    KEYED,
    STUCK,
    settled,
    stuck,
    view,
)
from tests.screens.scenes import NOW, Story

if TYPE_CHECKING:
    from supervisor.engine.desk import Ruling
    from tests.app.conftest import Opener, Stage

pytestmark = pytest.mark.anyio
WIDE = (120, 40)


def effects(stage: Stage) -> ItemsScreen:
    screen = stage.app.screen
    assert isinstance(screen, ItemsScreen)
    return screen


def only_ruling(stage: Stage) -> tuple[Ruling, bool]:
    assert len(stage.port.rulings) == 1
    return stage.port.rulings[0]


def dialog(stage: Stage) -> str:
    """Return the words inside the dialog's border on one line."""
    lines = (line.split("│") for line in stage.text().splitlines() if line.count("│") == 2)
    return " ".join(" ".join(parts[1] for parts in lines).split())


async def answer(stage: Stage, text: str | None) -> None:
    stage.port.answers.pop(0)(text)
    stage.frame()
    await stage.pilot.pause()


# Finding and settling


async def test_a_stuck_deploy_is_found_understood_and_settled_in_five_presses(open_app: Opener) -> None:
    async with open_app(stuck(), size=(80, 24)) as stage:
        assert "! needs you 5" in stage.text().splitlines()[-1]
        await stage.pilot.press("exclamation_mark")
        await stage.pilot.pause()
        for words in (
            "NEEDS YOU  5",
            '"All tests pass; deploying build 418 to staging."',
            "environment  staging   build  418",
            "claimed",
            "pid 4121 on workshop",
            "proved dead",
            "unresolved after 2.1 s: ConnectionResetError",
            "1 it happened  2 it did not  3 run it once more",
        ):
            assert words in stage.text()
        await stage.pilot.press("1", *"build 418 is live", "enter")
        await stage.pilot.press(*"418", "enter", *"status page", "enter")
        ruling, once_more = only_ruling(stage)
        assert (ruling.key, ruling.verb, ruling.seen_version) == ("003-deploy:deploy", DecisionVerb.DONE, 2)
        assert (ruling.why, ruling.outcome, ruling.evidence) == ("build 418 is live", "418", "status page")
        assert not once_more
        await stage.pilot.pause()
        assert "it happened …" in stage.line("003-deploy")


async def test_what_was_settled_is_seen_until_the_cursor_leaves(open_app: Opener) -> None:
    async with open_app(stuck(), size=(80, 24)) as stage:
        await stage.pilot.press("exclamation_mark", "4", "x", "enter")
        stage.board.show_effect(settled(STUCK, EffectState.ABANDONED))
        stage.board.apply(ev.StateChanged("003-deploy", NOW, State.QUEUED))
        await answer(stage, None)
        assert "NEEDS YOU  4" in stage.text()
        assert stage.line("▸").split()[1:4] == ["003-deploy", "effect", "deploy"]
        assert "abandoned" in stage.line("▸")
        assert "unresolved → abandoned  by operator" in stage.text()
        await stage.pilot.press("j")
        await stage.until(lambda: "003-deploy" not in stage.text())
        assert "010-mail" in stage.line("▸")


@pytest.mark.parametrize(
    ("keys", "key", "verb", "version", "once_more"),
    [
        (["2", "w", "enter"], STUCK.key, DecisionVerb.NOT_DONE, 2, False),
        (["3", "w", "enter"], STUCK.key, DecisionVerb.GRANT, 2, True),
        (["4", "w", "enter"], STUCK.key, DecisionVerb.ABANDON, 2, False),
        (["6", "w", "enter"], STUCK.key, DecisionVerb.NOTE, 2, False),
        (["1", "w", "enter", "enter", "enter"], STUCK.key, DecisionVerb.DONE, 2, False),
        (["j", "1"], ASKED.key, DecisionVerb.APPROVE, 2, False),
        (["j", "2", "w", "enter"], ASKED.key, DecisionVerb.DENY, 2, False),
        (["j", "4", "w", "enter"], ASKED.key, DecisionVerb.ABANDON, 2, False),
        (["j", "6", "w", "enter"], ASKED.key, DecisionVerb.NOTE, 2, False),
    ],
)
async def test_each_digit(
    open_app: Opener, keys: list[str], key: str, verb: DecisionVerb, version: int, once_more: bool
) -> None:
    async with open_app(stuck()) as stage:
        await stage.pilot.press("exclamation_mark", *keys)
        ruling, more = only_ruling(stage)
        assert (ruling.key, ruling.verb, ruling.seen_version, more) == (key, verb, version, once_more)
        assert ruling.why == ("" if verb is DecisionVerb.APPROVE else "w")
        assert ruling.outcome is None
        assert effects(stage).items.has_focus


async def test_a_probe_asks_where_one_is_set_and_says_so_where_none_is(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        await stage.pilot.press("exclamation_mark", "5")
        await stage.until(lambda: "no probe is set for deploy" in stage.text())
        await stage.pilot.press("j", "j", "5")
        assert stage.port.probes == [KEYED.key]
        await stage.until(lambda: "probe …" in stage.line("005-export"))
        await stage.pilot.press("5", "1")
        await stage.until(lambda: "the last answer is on its way" in stage.text())
        assert stage.port.probes == [KEYED.key]
        await answer(stage, None)
        assert "probe …" not in stage.text()


async def test_digits_do_nothing_to_a_ticket_and_enter_goes_there(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        await stage.pilot.press("exclamation_mark", "end")
        assert "budget reached" in stage.line("▸")
        await stage.pilot.press("1", "2", "3", "4", "5", "6")
        assert stage.port.rulings == []
        await stage.until(lambda: "this ticket takes no digits" in stage.text())
        await stage.pilot.press("enter")
        assert stage.is_on_board
        assert stage.screen.table.cursor_ticket == "007-tax"
        assert stage.has_focus(stage.screen.table)


async def test_a_opens_the_inbox_at_what_the_ticket_waits_for(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        assert "a answer" not in stage.text().splitlines()[-1]
        stage.screen.go_to("010-mail")
        await stage.until(lambda: "a answer" in stage.text().splitlines()[-1])
        await stage.pilot.press("a")
        assert effects(stage).selected is stage.board.effect(ASKED.key)
        await stage.pilot.press("escape", "home", "a")
        assert effects(stage).selected is stage.board.effect(STUCK.key)


async def test_a_fork_waits_for_the_effect_of_its_root(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        story = Story()
        story.board, story._number = stage.board, 100
        story.add("003-deploy.2", "A fork", parent="003-deploy")
        story.start("003-deploy.2", mode=Mode.FORK)
        story.move("003-deploy.2", State.NEEDS_YOU, why=Why.UNRESOLVED_EFFECT)
        stage.frame()
        stage.screen.go_to("003-deploy.2")
        await stage.pilot.press("a")
        assert effects(stage).selected is stage.board.effect(STUCK.key)
        assert "NEEDS YOU  5" in stage.text()


# Dialogs


@pytest.mark.parametrize("digit", ["1", "2", "3", "4", "6"])
async def test_every_dialog_closes_with_escape_and_decides_nothing(open_app: Opener, digit: str) -> None:
    async with open_app(stuck()) as stage:
        await stage.pilot.press("exclamation_mark", digit)
        assert isinstance(stage.app.screen, DecideScreen)
        await stage.pilot.press("1", "q", "question_mark", "n", "exclamation_mark", "e")
        assert stage.app.screen.query_one("#why").value == "1q?n!e"  # type: ignore[attr-defined]
        await stage.pilot.press("escape")
        assert effects(stage).items.has_focus
        await stage.pilot.press("escape")
        assert stage.is_on_board
        assert stage.has_focus(stage.screen.table)
        assert stage.port.rulings == []
        assert stage.port.stops == 0


async def test_a_reason_is_required(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        await stage.pilot.press("exclamation_mark", "1", "enter", "space", "enter")
        await stage.until(lambda: "Say why" in stage.text())
        assert stage.port.rulings == []
        await stage.pilot.press("o", "k", "enter", "enter", "enter")
        assert only_ruling(stage)[0].why == "ok"


@pytest.mark.parametrize(
    ("digit", "words"),
    [
        ("1", "did not happen after all, nobody will do it"),
        ("2", "did not happen, and that it is not run again unless you allow it"),
        ("3", "If the first deploy (environment staging, build 418) did go through, it will happen twice."),
        ("4", "will never run again"),
    ],
)
async def test_a_dialog_says_what_could_go_wrong(open_app: Opener, digit: str, words: str) -> None:
    async with open_app(stuck()) as stage:
        await stage.pilot.press("exclamation_mark", digit)
        await stage.pilot.pause()
        assert words in dialog(stage)


async def test_once_more_says_what_is_left_of_the_remotes_window(open_app: Opener) -> None:
    async with open_app(stuck(), size=WIDE) as stage:
        await stage.pilot.press("exclamation_mark", "j", "j")
        await stage.until(lambda: "knows it for another 8:20" in stage.text())
        stage.clock.now += 1
        await stage.until(lambda: "knows it for another 8:19" in stage.text())
        await stage.pilot.press("3")
        await stage.until(lambda: "should drop a repeat for another 8:19." in dialog(stage))


async def test_without_proof_of_death_the_name_must_be_typed(open_app: Opener) -> None:
    board = stuck()
    board.show_effect(view(STUCK, owner_dead=False))
    async with open_app(board) as stage:
        await stage.pilot.press("exclamation_mark")
        await stage.until(lambda: "not proved dead" in stage.text())
        await stage.pilot.press("3", "w", "enter", *"depl", "enter")
        await stage.until(lambda: "Type deploy" in stage.text())
        assert stage.port.rulings == []
        await stage.pilot.press("o", "y", "enter")
        assert only_ruling(stage)[0].verb is DecisionVerb.GRANT


async def test_a_paste_becomes_one_safe_line(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        await stage.pilot.press("exclamation_mark", "4")
        from textual.events import Paste

        stage.app.screen.query_one("#why").post_message(Paste("one\ntwo\x1b[2J \u202e[/b]"))
        await stage.until(lambda: "one two␛[2J ⟦U+202E⟧[/b]" in stage.text())


# Refusals


async def test_a_stale_decision_is_refused_and_the_card_is_fresh(open_app: Opener) -> None:
    async with open_app(stuck(), size=WIDE) as stage:
        await stage.pilot.press("exclamation_mark", "2")
        stage.board.show_effect(settled(STUCK, EffectState.DONE, outcome="[/b] live"))
        stage.frame()
        await stage.pilot.press(*"because", "enter")
        assert only_ruling(stage)[0].seen_version == 2
        await answer(stage, "003-deploy:deploy has changed since it was shown [/x]: it is done now")
        assert "not done: 003-deploy:deploy has changed since it was shown [/x]: it is done now" in stage.text()
        assert "[/b] live" in stage.line("outcome")
        assert "✓ done" in stage.line("▸")
        assert effects(stage).items.has_focus


async def test_words_of_a_refused_decision_are_kept(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        await stage.pilot.press("exclamation_mark", "4", *"long story", "enter")
        await answer(stage, "the disk is full")
        assert "not done: the disk is full" in stage.text()
        await stage.pilot.press("4", "enter")
        assert stage.port.rulings[1][0].why == "long story"
        assert "the disk is full" not in stage.text()


async def test_a_refusal_after_the_inbox_was_closed_is_told(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        await stage.pilot.press("exclamation_mark", "j", "1", "escape")
        assert stage.is_on_board
        await answer(stage, "010-mail [/b] is denied")
        await stage.until(lambda: "010-mail [/b] is denied" in stage.text())

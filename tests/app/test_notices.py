"""Calls and titles: when, with which words, and the very bytes."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from supervisor.app.app import SuperviseApp
from supervisor.app.driver import Output, TerminalDriver
from supervisor.app.herald import Herald
from supervisor.app.notices import GAP_S, SETTLE_S, Affair, Affairs, Caller, affairs_of, call_words, title_words
from supervisor.app.terminal_codes import Channels, call, desktop, give_title_back, take_title, title
from supervisor.core import events as ev
from supervisor.core.model import BatchTotals, State
from tests.e2e.terminal import Terminal, wait_until
from tests.screens.ask_scenes import AUDIENCE, ask, asking, question
from tests.screens.effect_scenes import stuck
from tests.screens.scenes import HOSTILE, NOW, FakePort, Story

if TYPE_CHECKING:
    from supervisor.core.board import Board
    from tests.app.conftest import Opener

XTERM = {"TERM": "xterm-256color"}
FORBIDDEN = {*map(chr, range(0x20)), *map(chr, range(0x7F, 0xA0)), "\u202e", "\u2066"}


def waits(*tickets: str, failed: tuple[str, ...] = (), moving: bool = True) -> Affairs:
    found = {ticket: Affair(ticket, "permission Bash: ls") for ticket in tickets}
    return Affairs(found | {t: Affair(t, "failed: exit 1", True) for t in failed}, moving, "2 done, 1 failed")


# When


def test_what_waits_at_the_first_look_is_not_called_for() -> None:
    caller = Caller()
    assert caller.look(waits("001"), 0) is None
    assert not caller.is_holding


def test_each_thing_is_called_for_once_after_a_moment() -> None:
    caller = Caller()
    caller.look(waits(), 0)
    assert caller.look(waits("001"), 100) is None
    assert caller.is_holding
    assert caller.look(waits("001"), 100 + SETTLE_S) == "001: permission Bash: ls"
    assert caller.look(waits("001"), 200) is None
    assert not caller.is_holding


def test_twenty_at_once_are_one_call() -> None:
    caller = Caller()
    caller.look(waits(), 0)
    names = [f"{number:03}" for number in range(20)]
    calls = [caller.look(waits(*names[: 1 + number]), 100 + number * 0.05) for number in range(20)]
    calls.append(caller.look(waits(*names), 100 + SETTLE_S))
    assert [words for words in calls if words] == ["20 need you: 000, 001, 002 and 17 more"]


def test_the_next_call_waits_for_the_gap_and_says_all_that_came_meanwhile() -> None:
    caller = Caller()
    caller.look(waits(), 0)
    caller.look(waits("001"), 100)
    first = 100 + SETTLE_S
    assert caller.look(waits("001"), first)
    assert caller.look(waits("001", "002"), first + 1) is None
    assert caller.look(waits("001", "002", failed=("003",)), first + GAP_S - 0.1) is None
    assert caller.look(waits("001", "002", failed=("003",)), first + GAP_S) == "2 need you (1 failed): 002, 003"


def test_what_was_answered_before_its_call_was_due_is_not_called_for() -> None:
    caller = Caller()
    caller.look(waits(), 0)
    caller.look(waits("001", "002"), 100)
    assert caller.look(waits("002"), 100 + SETTLE_S) == "002: permission Bash: ls"
    caller.look(waits("003"), 200)
    assert caller.look(waits(), 200 + SETTLE_S) is None
    assert not caller.is_holding


def test_the_same_thing_a_second_time_is_called_for_again() -> None:
    caller = Caller()
    caller.look(waits("001"), 0)
    caller.look(waits(), 50)
    caller.look(waits("001"), 100)
    assert caller.look(waits("001"), 100 + SETTLE_S)


def test_the_end_of_a_batch_is_called_for_once() -> None:
    caller = Caller()
    caller.look(waits(), 0)
    caller.look(waits(failed=("001",), moving=False), 100)
    assert caller.look(waits(failed=("001",), moving=False), 101) == "the batch is finished: 2 done, 1 failed"
    assert caller.look(waits(failed=("001",), moving=False), 300) is None


def test_a_batch_at_rest_that_waits_for_the_operator_is_not_finished() -> None:
    caller = Caller()
    caller.look(waits("001"), 0)
    assert caller.look(waits("001", moving=False), 100) is None
    assert not caller.is_holding


def test_a_batch_that_was_at_rest_from_the_beginning_is_not_called_for() -> None:
    caller = Caller()
    caller.look(waits(moving=False), 0)
    assert caller.look(waits(moving=False), 100) is None
    assert not caller.is_holding


def test_a_batch_that_goes_on_within_the_moment_is_not_finished() -> None:
    caller = Caller()
    caller.look(waits(), 0)
    caller.look(waits(moving=False), 100)
    assert caller.look(waits(moving=True), 101) is None
    assert not caller.is_holding


# Which words


def test_affairs_of_a_board_with_everything_on_it() -> None:
    board = stuck()
    ask(board, question("q", "001-rounding", [AUDIENCE]))
    found = affairs_of(board)
    said = {f"{affair.ticket}: {affair.words}" for affair in found.waits.values()}
    for words in (
        "001-rounding: question: Which audience is this page for?",
        "003-deploy: effect deploy: unresolved: ConnectionResetError: connection reset after send",
        "007-tax: budget reached",
        "008-docs: failed: the agent exited with 1",
    ):
        assert words in said
    assert found.is_moving
    assert [a.ticket for a in found.waits.values() if a.is_failure] == ["008-docs"]


def test_a_ticket_that_fails_again_is_another_affair() -> None:
    story = Story()
    story.add("001")
    story.start("001")
    story.move("001", State.FAILED)
    before = affairs_of(story.board).waits
    story.move("001", State.QUEUED)
    story.start("001")
    story.move("001", State.FAILED)
    assert affairs_of(story.board).waits.keys() != before.keys()


@pytest.mark.parametrize(
    ("needs", "counts", "words"),
    [
        (2, {State.NEEDS_YOU: 2, State.RUNNING: 2, State.STARTING: 1}, "2 need you · 3 running"),
        (2, {State.NEEDS_YOU: 1, State.FAILED: 1}, "2 need you (1 failed)"),
        (0, {State.DONE: 6, State.CANCELLED: 1}, "6 done, 1 cancelled"),
        (0, {State.QUEUED: 3, State.DONE: 2}, "3 queued"),
        (1, {State.QUEUED: 3, State.RUNNING: 1}, "1 needs you · 1 running"),
        (0, {}, "nothing runs"),
    ],
)
def test_titles(needs: int, counts: dict[State, int], words: str) -> None:
    assert title_words(BatchTotals(counts=counts, needs_you=needs)) == f"supervise: {words}"


def blocked(*, moving: bool) -> Board:
    """Return a board on which 002 comes after 001, which failed; 003 comes after 002."""
    story = Story()
    story.add("001")
    story.start("001")
    if not moving:
        story.move("001", State.FAILED, at=NOW - 60)
    story.add("002", after=("001",))
    story.add("003", after=("002",))
    return story.board


def test_what_is_blocked_is_an_affair_and_keeps_no_batch_from_being_finished() -> None:
    found = affairs_of(blocked(moving=False))
    said = {affair.ticket: affair.words for affair in found.waits.values()}
    assert said["002"] == "blocked: after 001, which failed"
    assert "003" not in said
    assert not found.is_moving
    caller = Caller()
    caller.look(affairs_of(blocked(moving=True)), 0)
    caller.look(found, 10)
    assert caller.look(found, 10 + SETTLE_S) == "the batch is finished: 1 failed"


def test_a_batch_with_paused_tickets_is_not_called_finished() -> None:
    assert call_words([], "2 done, 1 paused") == "nothing runs any more: 2 done, 1 paused"


# The bytes


@pytest.mark.parametrize(
    ("env", "sent"),
    [
        (XTERM, "\x1b]9;supervise: a;b\a\x1b]777;notify;supervise;a,b\a"),
        ({"TERM": "xterm-kitty"}, "\x1b]777;notify;supervise;a,b\a"),
        ({"TERM": "foot"}, "\x1b]777;notify;supervise;a,b\a"),
        (XTERM | {"TERM_PROGRAM": "WezTerm"}, "\x1b]777;notify;supervise;a,b\a"),
        (XTERM | {"VTE_VERSION": "7600"}, "\x1b]777;notify;supervise;a,b\a"),
        (XTERM | {"TERM_PROGRAM": "iTerm.app"}, "\x1b]9;supervise: a;b\a"),
        (
            {"TERM": "tmux-256color", "TMUX": "/tmp/x"},
            "\x1bPtmux;\x1b\x1b]9;supervise: a;b\a\x1b\\\x1bPtmux;\x1b\x1b]777;notify;supervise;a,b\a\x1b\\",
        ),
    ],
)
def test_the_bytes_of_a_notification(env: dict[str, str], sent: str) -> None:
    assert desktop("a;b", env) == sent


@pytest.mark.parametrize(
    ("env", "sent"),
    [
        (XTERM, "\x1b]9;supervise: x\a\x1b]777;notify;supervise;x\a\a"),
        (XTERM | {"SUPERVISE_NOTIFY": "bell"}, "\a"),
        (XTERM | {"SUPERVISE_NOTIFY": "desktop"}, "\x1b]9;supervise: x\a\x1b]777;notify;supervise;x\a"),
        (XTERM | {"SUPERVISE_NOTIFY": "0"}, ""),
        ({"TERM": "linux"}, "\a"),
        ({}, "\a"),
    ],
)
def test_the_environment_chooses_the_channels(env: dict[str, str], sent: str) -> None:
    assert call("x", Channels.of(env), env) == sent


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_text_gets_out_of_its_sequence(text: str) -> None:
    for sent, before, after in (
        (title(text), "\x1b]2;", "\a"),
        (desktop(text, {"TERM": "foot"}), "\x1b]777;notify;supervise;", "\a"),
        (desktop(text, {"TERM_PROGRAM": "iTerm.app"}), "\x1b]9;supervise: ", "\a"),
    ):
        assert sent.startswith(before)
        assert sent.endswith(after)
        body = sent[len(before) : -len(after)]
        assert not set(body) & FORBIDDEN
        assert len(body) <= 200
        sent.encode()


def test_a_title_is_taken_and_given_back() -> None:
    assert take_title("x") == "\x1b[22;2t\x1b]2;x\a"
    assert give_title_back() == "\x1b]2;\a\x1b[23;2t"


# The herald


@dataclass
class Heard:
    """A herald with everything it said."""

    board: Board
    now: float = 0.0
    written: list[str] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)

    def herald(self, **env: str) -> Herald:
        """Return a herald of the board."""
        return Herald(
            self.board,
            lambda: self.now,
            env=XTERM | env,
            write=self.written.append,
            set_title=self.titles.append,
        )


def test_an_ask_is_heard_once_and_stands_in_the_title() -> None:
    heard = Heard(asking())
    herald = heard.herald(SUPERVISE_NOTIFY="desktop", TERM="foot")
    herald.look()
    assert heard.titles == ["supervise: 5 need you · 1 running"]
    ask(heard.board, question("q", "006-cart", [AUDIENCE]))
    heard.now = 5
    herald.look()
    assert heard.titles[1:] == ["supervise: 6 need you"]
    heard.now = 5 + SETTLE_S
    herald.tick()
    herald.tick()
    asked = "006-cart: question: Which audience is this page for?"
    assert heard.written == [f"\x1b]777;notify;supervise;{asked}\a"]


def test_a_muted_herald_is_silent_and_does_not_make_up_for_it() -> None:
    heard = Heard(asking())
    herald = heard.herald()
    herald.look()
    assert "off" in herald.turn()
    ask(heard.board, question("q", "006-cart", [AUDIENCE]))
    herald.look()
    heard.now = 100
    herald.tick()
    assert "on" in herald.turn()
    heard.now = 200
    herald.look()
    assert heard.written == []


def test_a_batch_that_is_being_stopped_calls_nobody() -> None:
    heard = Heard(asking())
    herald = heard.herald()
    herald.look()
    heard.board.announce(stopping=True)
    for ticket in ("001-rounding", "002-images", "003-docs", "004-plan", "005-topics", "006-cart"):
        heard.board.apply(ev.StateChanged(ticket, NOW, State.PAUSED))
    heard.now = 100
    herald.look()
    heard.now = 200
    herald.tick()
    assert heard.written == []


def test_titles_keep_their_distance_and_the_last_one_stays() -> None:
    story = Story()
    for number in range(9):
        story.add(f"{number:03}")
    heard = Heard(story.board)
    herald = heard.herald()
    herald.look()
    for number in range(9):
        heard.now = number / 10
        story.start(f"{number:03}")
        herald.look()
    assert heard.titles == ["supervise: 9 queued"]
    heard.now = 2
    herald.tick()
    assert heard.titles[1:] == ["supervise: 9 running"]
    assert not herald._is_stale


# The terminal


@pytest.mark.anyio
async def test_what_is_no_terminal_is_told_nothing(tmp_path: Path) -> None:
    driver = TerminalDriver(SuperviseApp(FakePort(asking())))
    file = (tmp_path / "out").open("w+")
    driver._file, driver._output = file, Output(file)
    assert not driver.is_terminal
    driver.show_title("supervise")
    driver.signal("\a")
    driver.stop_application_mode()
    driver._output.stop()
    written = (tmp_path / "out").read_text()
    file.close()
    assert "\x1b[?1049l" in written
    assert "\a" not in written
    assert "\x1b]" not in written


@pytest.mark.anyio
async def test_m_mutes_and_lets_it_sound_again(open_app: Opener) -> None:
    async with open_app(asking()) as stage:
        await stage.pilot.press("M")
        await stage.until(lambda: "Bell and notifications are off." in stage.text())
        await stage.pilot.press("M")
        await stage.until(lambda: "Bell and notifications are on." in stage.text())


_APP = """
import asyncio
from supervisor.app.app import SuperviseApp
from supervisor.core import events as ev
from supervisor.core.model import State, Why
from tests.screens.ask_scenes import asking
from tests.screens.scenes import NOW, FakePort

port = FakePort(asking())
app = SuperviseApp(port, clock=lambda: NOW)
port.request_stop = lambda: app.finish(0)

async def reach_a_limit():
    while not app._herald._title:
        await asyncio.sleep(0.01)
    port.board.apply(ev.StateChanged("006-cart", NOW, State.NEEDS_YOU, Why.LIMIT, "budget reached \x1b[2J"))

async def main():
    limit = asyncio.create_task(reach_a_limit())
    await app.run_async()
    await limit

asyncio.run(main())
"""


def test_a_real_terminal_is_called_and_gets_its_title_back(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    env = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    terminal = Terminal([sys.executable, "-c", _APP], tmp_path, env | {"PYTHONPATH": str(root)})
    try:
        wait_until(lambda: b"\x1b]9;supervise: 006-cart: budget reached \xe2\x90\x9b[2J\a" in terminal.output)
        wait_until(lambda: b"\x1b]2;supervise: 6 need you\a" in terminal.output)
        assert b"\x1b[22;2t\x1b]2;supervise: 5 need you" in terminal.output
        terminal.keys("q\r")
        assert terminal.wait(60) == 0
        wait_until(lambda: b"\x1b]2;\a\x1b[23;2t" in terminal.output)
    finally:
        terminal.close()

"""The way out to a pager and back, in a terminal of its own, and what is said where there is none."""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import pytest

from supervisor.app.pager import read_in_pager
from tests.e2e.terminal import Terminal, wait_until
from tests.screens.scenes import busy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from tests.app.conftest import Opener

ROOT = Path(__file__).parents[2]
PAGER = """\
stat -c %a "$1" > "$0.mode"
echo "$1" > "$0.path"
cat "$1" > "$0.text"
ps -o pid=,pgid=,tpgid= -p $$ > "$0.job"
echo READY-TO-READ
"""


@pytest.fixture
def open_demo(tmp_path: Path) -> Iterator[Callable[[str], tuple[Terminal, Path]]]:
    """Return the way to show a scene in a terminal, with a pager that goes on with some shell words."""
    terminals: list[Terminal] = []

    def opened(then: str) -> tuple[Terminal, Path]:
        script = tmp_path / "pager.sh"
        script.write_text(PAGER + then)
        env = {**os.environ, "PAGER": f"sh {script}", "TMPDIR": str(tmp_path), "COLORTERM": "truecolor"}
        terminal = Terminal([sys.executable, "-m", "tests.screens.demo", "busy"], ROOT, env, 30, 120)
        terminals.append(terminal)
        wait_until(lambda: b"001-rounding" in terminal.output)
        terminal.keys("\r")
        wait_until(lambda: b" board" in terminal.output)
        terminal.keys("v")
        wait_until(lambda: b"READY-TO-READ" in terminal.output)
        return terminal, script

    yield opened
    for terminal in terminals:
        terminal.close()


def _back(terminal: Terminal) -> None:
    """Wait until the board is drawn again, and leave."""
    after = terminal.output.index(b"READY-TO-READ")
    wait_until(lambda: b"esc" in terminal.output[after:] and b"tinyshop" in terminal.output[after:])
    terminal.keys("q")
    wait_until(lambda: b"agents" in terminal.output[after:] or b"running" in terminal.output[after:])
    terminal.keys("\r")
    assert terminal.wait(60) == 0
    assert terminal.settings() == terminal.before


def test_the_pager_reads_a_private_file_and_the_app_comes_back(open_demo: Callable[..., tuple[Terminal, Path]]) -> None:
    terminal, script = open_demo("read line\n")
    terminal.keys("\n")
    _back(terminal)
    assert script.with_name("pager.sh.mode").read_text().strip() == "600"
    assert not Path(script.with_name("pager.sh.path").read_text().strip()).exists()
    text = script.with_name("pager.sh.text").read_text()
    assert "» task: Discounts round the wrong way." in text
    assert "$ pytest -q\nF..\nE  assert 9.99 == 10.0" in text
    assert "\x1b" not in text


def test_keys_that_send_signals_are_the_pagers(open_demo: Callable[..., tuple[Terminal, Path]]) -> None:
    terminal, script = open_demo("trap 'echo WOKEN' CONT\nwhile :; do sleep 0.1; done\n")
    pid, group, foreground = script.with_name("pager.sh.job").read_text().split()
    assert pid == group == foreground
    terminal.keys("\x1a")  # ctrl+z: nobody could wake it, so it goes on
    wait_until(lambda: b"WOKEN" in terminal.output)
    terminal.keys("\x03")
    _back(terminal)


class FakeApp:
    """An app that can be suspended."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def suspend(self) -> AbstractContextManager[None]:
        """Hand over a terminal that is not there."""
        return nullcontext()

    def notify(self, words: str, **_: object) -> None:
        """Note it."""
        self.said.append(words)


@pytest.mark.anyio
async def test_an_app_that_leaves_takes_the_pager_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "pager.sh"
    script.write_text('echo "$1" > "$0.path"\necho $$ > "$0.part"; mv "$0.part" "$0.pid"\nsleep 60\n')
    monkeypatch.setenv("PAGER", f"sh {script}")
    pid_file = tmp_path / "pager.sh.pid"
    async with anyio.create_task_group() as group:
        app: Any = FakeApp()
        group.start_soon(read_in_pager, app, "text")
        await anyio.to_thread.run_sync(wait_until, pid_file.exists)
        assert (await anyio.Path((tmp_path / "pager.sh.path").read_text().strip()).read_text()) == "text"
        group.cancel_scope.cancel()
    assert not Path((tmp_path / "pager.sh.path").read_text().strip()).exists()
    pid = int(pid_file.read_text())
    await anyio.to_thread.run_sync(wait_until, lambda: not Path(f"/proc/{pid}").exists())


@pytest.mark.anyio
async def test_a_pager_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGER", "no-such-pager -x")
    app: Any = FakeApp()
    await read_in_pager(app, "text")
    assert app.said == ["no-such-pager cannot be started: No such file or directory. Set PAGER to another program."]


@pytest.mark.anyio
async def test_where_there_is_no_terminal_it_says_so(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        await stage.pilot.press("enter", "v")
        await stage.until(lambda: "This terminal cannot be handed to a pager." in stage.text())


@pytest.mark.anyio
async def test_a_setting_that_makes_no_sense_is_named(open_app: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGER", 'less "')
    async with open_app(busy()) as stage:
        await stage.pilot.press("enter", "v")
        await stage.until(lambda: "PAGER cannot be read: No closing quotation." in stage.text())

"""What outlives the screen: drafts of messages in the batch, the theme in the operator's own state."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from supervisor.app.app import SuperviseApp
from supervisor.app.own_theme import keep_theme, read_theme, theme_path
from supervisor.app.screens.tell import TellScreen
from supervisor.app.theme import HIGH_CONTRAST, THEME
from tests.screens.dialog_scenes import Library
from tests.screens.scenes import NOW, FakePort, calm

if TYPE_CHECKING:
    from pathlib import Path

    from tests.app.conftest import Opener, Stage

pytestmark = pytest.mark.anyio


@dataclass
class Kept(Library):
    """Has what an earlier run kept."""

    settings: dict[str, str] = field(default_factory=dict)

    async def setting(self, name: str) -> str:
        """Return it."""
        await self._wait()
        return self.settings.get(name, "")


def words(stage: Stage) -> str:
    screen = stage.app.screen
    assert isinstance(screen, TellScreen)
    return screen.area.text


async def test_a_draft_is_there_after_a_restart_and_gone_once_sent(open_app: Opener) -> None:
    async with open_app(calm()) as stage:
        await stage.pilot.press("m", *"Hello", "escape")
        kept = dict(stage.port.settings)
    assert list(kept.values()) == ["Hello"]
    async with open_app(calm()) as stage:
        stage.port.reader = Kept(settings=kept)
        await stage.pilot.press("m")
        await stage.until(lambda: words(stage) == "Hello")
        await stage.pilot.press("ctrl+s")
        assert stage.port.told[-1]["text"] == "Hello"
        assert list(stage.port.settings.values()) == [""]
        await stage.pilot.press("m")
        await stage.pilot.pause()
        assert words(stage) == ""


async def test_a_draft_belongs_to_its_tickets(open_app: Opener) -> None:
    async with open_app(calm()) as stage:
        await stage.pilot.press("m", *"One", "escape", "j", "m")
        assert words(stage) == ""
        await stage.pilot.press("escape", "k", "m")
        assert words(stage) == "One"


async def test_a_draft_that_comes_late_never_replaces_what_is_typed(open_app: Opener) -> None:
    import asyncio

    async with open_app(calm()) as stage:
        gate = asyncio.Event()
        stage.port.reader = Kept(settings={"draft 001-rounding": "old"}, gate=gate)
        await stage.pilot.press("m", *"new")
        gate.set()
        await asyncio.gather(*stage.port.tasks)
        await stage.pilot.pause()
        assert words(stage) == "new"


async def test_the_theme_that_was_chosen_is_there_again(tmp_path: Path) -> None:
    path = tmp_path / "supervise/theme"
    first = SuperviseApp(FakePort(calm()), clock=lambda: NOW, theme_file=path)
    async with first.run_test() as pilot:
        assert first.theme == THEME.name
        first.theme = HIGH_CONTRAST.name
        await pilot.pause()
        await first.workers.wait_for_complete()
    assert path.read_text() == f"{HIGH_CONTRAST.name}\n"
    assert SuperviseApp(FakePort(calm()), theme_file=path).theme == HIGH_CONTRAST.name


def test_a_theme_that_is_not_known_or_cannot_be_read_is_the_first_one(tmp_path: Path) -> None:
    path = tmp_path / "theme"
    path.write_bytes(b"\xff\xfe")
    assert read_theme(path) == ""
    path.write_text("no-such-theme\n")
    assert SuperviseApp(FakePort(calm()), theme_file=path).theme == THEME.name
    assert read_theme(tmp_path / "none") == ""
    keep_theme(path / "below a file", "x")


def test_where_the_theme_is_kept() -> None:
    assert str(theme_path({"HOME": "/h"})) == "/h/.local/state/supervise/theme"
    assert str(theme_path({"HOME": "/h", "XDG_STATE_HOME": "/s"})) == "/s/supervise/theme"

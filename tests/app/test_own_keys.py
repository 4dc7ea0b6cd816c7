"""Keys that the operator gave themselves: they work, the others do not, and everything says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from supervisor.app.own_keys import KEPT, places, read_own_keys
from supervisor.app.screens.inbox import InboxScreen
from supervisor.app.screens.timeline import TimelineScreen
from supervisor.cli import run_command
from supervisor.config import ConfigError
from supervisor.config.keys import canonical, is_key
from tests.app.test_ticket_screen import at
from tests.e2e.stage import make_repo
from tests.screens.effect_scenes import stuck

if TYPE_CHECKING:
    from pathlib import Path

    from tests.app.conftest import Opener

OWN = {"interrupt": "ctrl+t", "inbox": "#", "quit": "f10", "filter": "F", "timeline": "Z", "undo": "U"}


def test_no_key_is_delivered_twice() -> None:
    for place in places():
        keys = [canonical(key) for defaults in place.keys.values() for key in defaults]
        assert sorted(keys) == sorted(set(keys)), place.name
        assert all(map(is_key, keys))


def test_what_is_kept_is_what_widgets_need() -> None:
    assert all(canonical(key) == key and is_key(key) for key in KEPT)


@pytest.mark.anyio
async def test_own_keys_work_and_the_delivered_ones_do_not(open_app: Opener) -> None:
    async with open_app(stuck(), keys=OWN) as stage:
        await stage.pilot.press("i")
        assert stage.port.submitted == []
        await stage.pilot.press("ctrl+t")
        assert stage.port.submitted == [("interrupt", ("001-rounding",))]
        await stage.pilot.press("exclamation_mark")
        assert stage.is_on_board
        await stage.pilot.press("number_sign")
        assert isinstance(stage.app.screen, InboxScreen)
        await stage.pilot.press("escape", "T")
        assert stage.is_on_board
        await stage.pilot.press("Z")
        assert isinstance(stage.app.screen, TimelineScreen)


@pytest.mark.anyio
async def test_they_work_on_a_tickets_screen(open_app: Opener) -> None:
    async with open_app(stuck(), keys=OWN) as stage:
        await at(stage, "i")
        assert stage.port.submitted == []
        await stage.pilot.press("ctrl+t")
        assert stage.port.submitted == [("interrupt", ("001-rounding",))]


@pytest.mark.anyio
async def test_two_that_changed_places(open_app: Opener) -> None:
    async with open_app(stuck(), keys={"interrupt": "m", "message": "i"}) as stage:
        await stage.pilot.press("m")
        assert stage.port.submitted == [("interrupt", ("001-rounding",))]


@pytest.mark.anyio
async def test_quit_keeps_its_other_keys(open_app: Opener) -> None:
    for key, quits in (("q", False), ("f10", True), ("ctrl+q", True)):
        async with open_app(stuck(), keys=OWN) as stage:
            await stage.pilot.press(key)
            assert stage.is_on_board is not quits, key


@pytest.mark.anyio
async def test_footer_help_and_palette_say_the_own_keys(open_app: Opener) -> None:
    async with open_app(stuck(), size=(120, 160), keys=OWN) as stage:
        footer = stage.text().splitlines()[-1]
        for words in ("ctrl+t interrupt", "# needs you 5", "F filter", "f10 quit", "m message"):
            assert words in footer
        await stage.pilot.press("question_mark")
        await stage.pilot.pause()
        assert "ctrl+t" in stage.line("Stop the turn")
        assert "Z" in stage.line("Show when each ticket was at work").split()
        await stage.pilot.press("escape", "ctrl+p", *"filter")
        await stage.until(lambda: "(F)" in stage.text())
        await stage.pilot.press("escape")
        await at(stage)
        assert "ctrl+t interrupt" in stage.text().splitlines()[-1]


def test_names_of_verbs_and_commands_are_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert read_own_keys() == {}
    (tmp_path / "supervise").mkdir()
    file = tmp_path / "supervise" / "keys.toml"
    file.write_text('[keys]\ninterrupt = "ctrl+i"\nstart-over = "f9"\nnext = "N"\n')
    assert read_own_keys() == {"interrupt": "ctrl+i", "start-over": "f9", "next": "N"}
    file.write_text('[keys]\ncancel = "i"\n')
    with pytest.raises(ConfigError, match='"i" stands for cancel and for interrupt on the board'):
        read_own_keys()


def test_a_fault_is_told_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    repo = make_repo(tmp_path / "repo")
    (repo / "tickets.toml").write_text('[[ticket]]\nid = "001"\nprompt = "Do it."\n')
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr("supervisor.cli.batch._is_headless", lambda _: False)
    (tmp_path / "supervise").mkdir()
    (tmp_path / "supervise" / "keys.toml").write_text('[keys]\ninterupt = "x"\ncancel = "escape"\n')
    assert run_command(["run", str(repo / "tickets.toml")]) == 2
    said = capsys.readouterr().err
    assert 'unknown command "interupt" (did you mean "interrupt"?)' in said
    assert '"escape" cannot be given away' in said
    assert not (repo / ".supervisor").exists()

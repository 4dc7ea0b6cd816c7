"""The operator's own keys: what is taken, and that every fault of the file is told in one pass."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.config import ConfigError
from supervisor.config.keys import Place, canonical, is_key, keys_path, load_keys

if TYPE_CHECKING:
    from collections.abc import Callable

    Faults = Callable[[str], list[str]]

BOARD = Place(
    "the board", {"interrupt": ["i"], "message": ["m"], "inbox": ["exclamation_mark"], "quit": ["q", "ctrl+q"]}
)
TIMELINE = Place("the timeline", {"zoom_in": ["plus", "equals_sign"], "quit": ["q", "ctrl+q"], "interrupt": ["i"]})
KEPT = {"escape": "it leads back from everywhere", "j": "it moves in lists"}


@pytest.fixture
def faults(tmp_path: Path) -> Faults:
    def found(text: str) -> list[str]:
        path = tmp_path / "keys.toml"
        path.write_text(text)
        with pytest.raises(ConfigError) as caught:
            load_keys(path, [BOARD, TIMELINE], KEPT)
        return [str(fault).removeprefix(f"{path}: ") for fault in caught.value.faults]

    return found


def load(path: Path, text: str) -> dict[str, str]:
    path.write_text(text)
    return load_keys(path, [BOARD, TIMELINE], KEPT)


def test_the_file_is_looked_for_where_it_belongs() -> None:
    assert keys_path({"XDG_CONFIG_HOME": "/c", "HOME": "/h"}) == Path("/c/supervise/keys.toml")
    assert (
        keys_path({"HOME": "/h"})
        == keys_path({"HOME": "/h", "XDG_CONFIG_HOME": ""})
        == Path("/h/.config/supervise/keys.toml")
    )


def test_without_a_file_nothing_is_other(tmp_path: Path) -> None:
    assert load_keys(tmp_path / "none" / "keys.toml", [BOARD], KEPT) == {}


def test_keys_are_taken_as_they_are_written(tmp_path: Path) -> None:
    text = '[keys]\ninterrupt = "ctrl+i"\ninbox = "#"\nquit = "f10"\nzoom_in = "ctrl++"\n'
    assert load(tmp_path / "keys.toml", text) == {
        "interrupt": "ctrl+i",
        "inbox": "#",
        "quit": "f10",
        "zoom_in": "ctrl++",
    }


def test_two_may_change_places(tmp_path: Path) -> None:
    assert load(tmp_path / "keys.toml", '[keys]\ninterrupt = "m"\nmessage = "i"\n') == {
        "interrupt": "m",
        "message": "i",
    }


def test_the_same_key_may_stand_for_two_on_different_screens(tmp_path: Path) -> None:
    assert load(tmp_path / "keys.toml", '[keys]\nmessage = "+"\n') == {"message": "+"}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('interupt = "x"', 'keys.interupt: unknown command "interupt" (did you mean "interrupt"?)'),
        ("interrupt = 7", "keys.interrupt: must be a text"),
        ('interrupt = ""', 'keys.interrupt: "" is no key'),
        ('interrupt = "ab"', 'keys.interrupt: "ab" is no key'),
        ('interrupt = "f25"', 'keys.interrupt: "f25" is no key'),
        ('interrupt = "ctrl+"', 'keys.interrupt: "ctrl+" is no key'),
        ('interrupt = "escape"', 'keys.interrupt: "escape" cannot be given away: it leads back from everywhere'),
        ('interrupt = "j"', 'keys.interrupt: "j" cannot be given away: it moves in lists'),
        ('interrupt = "m"', 'keys.interrupt: "m" stands for interrupt and for message on the board'),
        ('interrupt = "!"', 'keys.interrupt: "!" stands for inbox and for interrupt on the board'),
        ('interrupt = "ctrl+q"', 'keys.interrupt: "ctrl+q" stands for interrupt and for quit on the board'),
        ('interrupt = "="', 'keys.interrupt: "=" stands for interrupt and for zoom_in on the timeline'),
        ('interrupt = "x"\nmessage = "x"', 'keys.message: "x" stands for interrupt and for message on the board'),
    ],
)
def test_faults_are_told_clearly(faults: Faults, line: str, told: str) -> None:
    found = faults(f"[keys]\n{line}\n")
    assert len(found) == 1
    assert found[0].startswith(told), found


def test_all_faults_come_at_once(faults: Faults) -> None:
    found = faults('[key]\na = "b"\n[keys]\ninterupt = "x"\nmessage = "escape"\n')
    assert [line.partition(":")[0] for line in found] == ["key", "keys.interupt", "keys.message"]


def test_a_file_that_is_no_toml_is_told(faults: Faults) -> None:
    assert "not valid TOML" in faults("[keys\n")[0]
    assert "must be a table" in faults("keys = 3\n")[0]


def test_signs_and_their_names_are_the_same_key() -> None:
    for sign, name in (("!", "exclamation_mark"), ("/", "slash"), ("+", "plus"), ("ctrl+_", "ctrl+underscore")):
        assert canonical(sign) == canonical(name) == name


@given(st.text(max_size=12))
def test_any_text_is_a_key_or_is_not(text: str) -> None:
    assert is_key(text) in (True, False)
    assert canonical(canonical(text)) == canonical(text)

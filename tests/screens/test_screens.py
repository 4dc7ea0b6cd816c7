"""Screens as pictures. Look at the report before accepting a change: ``pytest tests/screens --snapshot-update``."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from supervisor.app.app import SuperviseApp
from tests.screens.effect_scenes import EFFECT_SCENES
from tests.screens.scenes import NOW, SCENES, FakePort

Compare = Callable[..., bool]


@pytest.fixture(autouse=True)
def _same_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.delenv("NO_COLOR", raising=False)
    time.tzset()


def app(scene: str) -> SuperviseApp:
    return SuperviseApp(FakePort((SCENES | EFFECT_SCENES)[scene]()), clock=lambda: NOW)


@pytest.mark.parametrize(
    ("scene", "size", "keys"),
    [
        pytest.param("calm", (80, 24), [], id="calm-80x24"),
        pytest.param("busy", (80, 24), [], id="busy-80x24"),
        pytest.param("busy", (120, 40), ["n"], id="busy-120x40"),
        pytest.param("busy", (200, 60), ["j", "i"], id="busy-200x60-pending"),
        pytest.param("busy", (240, 40), [], id="busy-240x40-beside"),
        pytest.param("busy", (80, 24), ["enter", "k", "k"], id="transcript-80x24"),
        pytest.param("hostile", (80, 24), [], id="hostile-80x24"),
        pytest.param("hostile", (160, 40), ["j", "j", "j", "j", "j", "j"], id="hostile-160x40"),
        pytest.param("busy", (80, 24), ["question_mark"], id="help-80x24"),
        pytest.param("busy", (80, 24), ["q"], id="quit-80x24"),
        pytest.param("empty", (80, 24), [], id="empty-80x24"),
        pytest.param("busy", (80, 24), ["slash", *"state:p"], id="filter-typed-80x24"),
        pytest.param("busy", (120, 40), ["g", "s", "s", "space", "slash", *"!state:run", "enter"], id="listing-120x40"),
        pytest.param("stuck", (80, 24), ["exclamation_mark"], id="inbox-unresolved-80x24"),
        pytest.param("stuck", (120, 40), ["exclamation_mark"], id="inbox-unresolved-120x40"),
        pytest.param("stuck", (80, 24), ["exclamation_mark", "j"], id="inbox-requested-80x24"),
        pytest.param("stuck", (120, 40), ["exclamation_mark", "j"], id="inbox-requested-120x40"),
        pytest.param("stuck", (80, 24), ["exclamation_mark", "1", "o", "k"], id="decide-80x24"),
        pytest.param("stuck", (120, 40), ["exclamation_mark", "3"], id="decide-120x40"),
        pytest.param("stuck", (80, 24), ["e", "j", "j"], id="ledger-80x24"),
        pytest.param("stuck", (120, 40), ["e"], id="ledger-120x40"),
        pytest.param("nothing-waits", (80, 24), ["exclamation_mark"], id="inbox-empty-80x24"),
        pytest.param("nothing-waits", (120, 40), ["exclamation_mark"], id="inbox-empty-120x40"),
        pytest.param("hostile-effects", (80, 24), ["exclamation_mark", "j", "j", "j"], id="inbox-hostile-80x24"),
    ],
)
def test_screen(scene: str, size: tuple[int, int], keys: list[str], snap_compare: Compare) -> None:
    assert snap_compare(app(scene), terminal_size=size, press=keys)


def test_without_colours(snap_compare: Compare, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monochrome: Any = app("busy")
    assert monochrome.no_color
    assert snap_compare(monochrome, terminal_size=(80, 24), press=["j", "j", "j"])

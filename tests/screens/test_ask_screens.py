"""The inbox with everything that agents ask, as pictures."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from supervisor.app.app import SuperviseApp
from tests.screens.ask_scenes import ASK_SCENES
from tests.screens.scenes import NOW, FakePort

Compare = Callable[..., bool]
INBOX, SMALL, WIDE = "exclamation_mark", (80, 24), (120, 40)


@pytest.fixture(autouse=True)
def _same_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.delenv("NO_COLOR", raising=False)
    time.tzset()


@pytest.mark.parametrize(
    ("scene", "size", "keys"),
    [
        pytest.param("asking", SMALL, [INBOX], id="edit-80x24"),
        pytest.param("asking", WIDE, [INBOX], id="edit-120x40"),
        pytest.param("asking", SMALL, [INBOX, "j"], id="command-80x24"),
        pytest.param("asking", WIDE, [INBOX, "j"], id="command-120x40"),
        pytest.param("asking", SMALL, [INBOX, "j", "1"], id="command-pending-80x24"),
        pytest.param("asking", SMALL, [INBOX, "j", "4", *"not now"], id="deny-80x24"),
        pytest.param("asking", SMALL, [INBOX, "j", "j", "2"], id="question-80x24"),
        pytest.param("asking", WIDE, [INBOX, "j", "j", "2"], id="question-120x40"),
        pytest.param("asking", SMALL, [INBOX, "end", "1", "3", "enter"], id="questions-80x24"),
        pytest.param("asking", SMALL, [INBOX, "j", "j", "j"], id="plan-80x24"),
        pytest.param("asking", WIDE, [INBOX, "j", "j", "j"], id="plan-120x40"),
        pytest.param("stopped", SMALL, [INBOX, "j", "j"], id="stopped-80x24"),
        pytest.param("hostile-asks", SMALL, [INBOX, "j", "j"], id="hostile-80x24"),
    ],
)
def test_ask_screen(scene: str, size: tuple[int, int], keys: list[str], snap_compare: Compare) -> None:
    app = SuperviseApp(FakePort(ASK_SCENES[scene]()), clock=lambda: NOW)
    assert snap_compare(app, terminal_size=size, press=keys)

"""A small terminal: notices hide nothing that is typed or pressed, and what is below the view says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from textual.widgets import Button, Input, TextArea
from textual.widgets._toast import Toast

from supervisor.core.cuts import Cut, CutKind
from supervisor.core.model import PromptKind
from supervisor.core.rewinds import Checkpoint
from tests.app.test_dialogs import on
from tests.screens.dialog_scenes import TICKET, Library, at_rest
from tests.screens.effect_scenes import stuck
from tests.screens.scenes import NOW
from widgets.pick_list import PickList

if TYPE_CHECKING:
    from tests.app.conftest import Opener, Stage

pytestmark = pytest.mark.anyio
SMALL = (80, 24)
MANY = 40


def long_library() -> Library:
    """Return a past of many prompts and places to cut."""
    library = Library()
    library.points = tuple(
        Checkpoint(n, f"p{n}", PromptKind.MESSAGE, f"Prompt {n}", NOW - 9000 + n, f"s{n}", in_session=True)
        for n in range(MANY, 0, -1)
    )
    library.cuts_found = tuple(Cut(f"c{n}", NOW - 9000 + n, CutKind.REPLY, f"Reply {n}", n) for n in range(MANY))
    return library


async def notify(stage: Stage) -> list[Toast]:
    for words in ("first", "The second one is so long that it would take several lines in a corner " * 3):
        stage.app.screen.notify(words, markup=False)
    await stage.until(lambda: len(stage.app.screen.query(Toast)) == 2)
    await stage.pilot.pause()
    return [toast for toast in stage.app.screen.query(Toast) if toast.region.area and toast.is_on_screen]


@pytest.mark.parametrize("size", [SMALL, (120, 40)], ids=str)
@pytest.mark.parametrize("key", ["m", "b", "P", "R", "f", "z"])
async def test_a_notice_hides_no_part_of_a_dialog(open_app: Opener, key: str, size: tuple[int, int]) -> None:
    async with open_app(at_rest(), size=size) as stage:
        stage.port.reader = long_library()
        await on(stage, TICKET, key)
        toasts = await notify(stage)
        assert len(toasts) == 1, "the latest one is shown"
        assert "The second one" in stage.text()
        box = stage.app.screen.query_one("#dialog")
        parts = [w for kind in (Input, TextArea, Button) for w in stage.app.screen.query(kind)]
        assert parts
        for widget in (box, *parts):
            assert not widget.region.overlaps(toasts[0].region)


async def test_a_notice_leaves_the_keys_of_an_item_alone(open_app: Opener) -> None:
    async with open_app(stuck(), size=SMALL) as stage:
        await stage.pilot.press("exclamation_mark")
        toasts = await notify(stage)
        answers = stage.app.screen.query_one("#answers")
        assert toasts
        assert not any(answers.region.overlaps(toast.region) for toast in toasts)


@pytest.mark.parametrize("key", ["f", "z"])
async def test_pickers_say_how_much_is_below_and_keep_the_cursor_in_view(open_app: Opener, key: str) -> None:
    async with open_app(at_rest(), size=SMALL) as stage:
        stage.port.reader = long_library()
        await on(stage, TICKET, key)
        picker = stage.app.screen.query_one(PickList)
        picker.focus()
        await stage.until(lambda: "more below" in stage.text())
        rows = picker.row_count
        for place in range(rows):
            await stage.until(lambda place=place: "▸" in stage.text() and picker.place == place)  # type: ignore[misc]
            left = rows - picker.in_view.stop
            sign = f"↓ {left} more below"
            await stage.until(lambda left=left, sign=sign: (sign in stage.text()) is (left > 0))  # type: ignore[misc]
            assert picker.place in picker.in_view
            await stage.pilot.press("j")
        assert "more below" not in "\n".join(line[:40] for line in stage.text().splitlines())
        await stage.pilot.press("home")
        await stage.until(lambda: f"↓ {rows - picker.in_view.stop} more below" in stage.text())
        assert picker.in_view.start == 0

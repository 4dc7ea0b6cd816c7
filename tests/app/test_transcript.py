"""The transcript in the app: following, the lock when scrolled up, switching tickets, resizing, folding, copying."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from supervisor.core import events as ev
from supervisor.core.diffs import Diff
from supervisor.core.model import Entry, EntryKind
from tests.screens.scenes import NOW, calm

if TYPE_CHECKING:
    from tests.app.conftest import Opener, Stage

pytestmark = pytest.mark.anyio
TICKET = "001-rounding"


def say(stage: Stage, first: int, last: int, ticket: str = TICKET) -> None:
    for number in range(first, last):
        stage.board.apply(ev.AgentSpoke(ticket, NOW, f"word {number}."))
    stage.frame()


def call(stage: Stage, key: str, words: str, came: str | None = None, **more: Any) -> None:
    name, _, summary = words.partition(" ")
    stage.board.apply(
        ev.ToolCalled(TICKET, NOW, key, name, summary, more.pop("detail", ""), diff=more.pop("diff", None))
    )
    if came is not None:
        stage.board.apply(ev.ToolReturned(TICKET, NOW, key, came, **more))
    stage.frame()


def below(stage: Stage) -> list[str]:
    """The transcript's rows as they stand on the screen, without the scroll bar."""
    view = stage.screen.transcript.region
    rows = stage.text().splitlines()[view.y : view.bottom]
    return [row[: view.right - 1].rstrip() for row in rows]


async def test_it_follows_the_end(open_app: Opener) -> None:
    async with open_app(calm()) as stage:
        for part in range(5):
            say(stage, part * 20, part * 20 + 20)
            await stage.until(lambda part=part: f"› word {part * 20 + 19}." in stage.text())  # type: ignore[misc]
        assert stage.screen.transcript.is_following


async def test_a_key_up_holds_the_view_and_end_follows_again(open_app: Opener) -> None:
    async with open_app(calm()) as stage:
        view = stage.screen.transcript
        say(stage, 0, 100)
        await stage.pilot.press("tab", "k")
        assert not view.is_following
        await stage.pilot.pause()
        before = below(stage)
        say(stage, 100, 130)
        await stage.until(lambda: "▼ 30 new below · end" in stage.text())
        assert below(stage)[:-1] == before[:-1]
        await stage.pilot.press("end")
        await stage.until(lambda: "word 129." in stage.text())
        assert view.is_following
        assert "new below" not in stage.text()


async def test_what_is_new_is_counted_until_it_was_in_view(open_app: Opener) -> None:
    async with open_app(calm()) as stage:
        view = stage.screen.transcript
        say(stage, 0, 100)
        await stage.pilot.press("tab", "pageup")
        say(stage, 100, 130)
        assert view.unseen == 30
        call(stage, "a", "Bash x", "done")
        assert view.unseen == 31
        await stage.pilot.press("pagedown", "pagedown")
        await stage.pilot.pause()
        assert 0 < view.unseen < 31
        await stage.pilot.press("G")
        assert view.unseen == 0


async def test_going_down_to_the_end_follows_again(open_app: Opener) -> None:
    async with open_app(calm()) as stage:
        view = stage.screen.transcript
        say(stage, 0, 100)
        await stage.pilot.press("tab")
        for up, down in (("k", "j"), ("pageup", "pagedown"), ("K", "J"), ("up", "down")):
            await stage.pilot.press(up, up)
            assert not view.is_following, up
            await stage.pilot.press(down, down)
            assert view.is_following, down


async def test_home_reaches_what_was_not_laid_out_at_first(open_app: Opener) -> None:
    board = calm()
    for number in range(1500):
        board.apply(ev.AgentSpoke(TICKET, NOW, f"word {number}."))
    async with open_app(board) as stage:
        view = stage.screen.transcript
        assert view._lines.height < 100
        await stage.pilot.press("tab", "home")
        await stage.until(lambda: view.scroll_offset.y == 0)
        await stage.pilot.pause()
        first = board.transcript(TICKET).since()[0]
        assert first.text in below(stage)[0]
        assert view._lines.height < 100


async def test_paging_up_and_down_meets_every_row_once(open_app: Opener) -> None:
    board = calm()
    for number in range(200):
        board.apply(ev.AgentSpoke(TICKET, NOW, f"word {number}."))
    async with open_app(board) as stage:
        await stage.pilot.press("tab")
        for key in ("pageup", "pagedown"):
            seen: list[int] = []
            for _ in range(200):
                shown = [n for n in _spoken(stage) if n not in seen]
                seen = shown + seen if key == "pageup" else seen + shown
                if (0 if key == "pageup" else 199) in shown:
                    break
                await stage.pilot.press(key)
                await stage.pilot.pause()
            assert seen == list(range(200))
        assert stage.screen.transcript.is_following


async def test_it_stays_put_when_what_it_shows_is_dropped_from_memory(open_app: Opener) -> None:
    async with open_app(calm()) as stage:
        view = stage.screen.transcript
        say(stage, 0, 300)
        await stage.pilot.press("tab", "pageup", "pageup")
        await stage.pilot.pause()
        before, top = below(stage), view.scroll_offset.y
        for part in range(20):
            say(stage, 300 + part * 500, 800 + part * 500)
            await stage.pilot.pause()
            assert below(stage)[:-1] == before[:-1]
        assert stage.board.transcript(TICKET).first_seq > 5000
        assert view.unseen == 10_000
        assert view.scroll_offset.y == top
        while "no longer in memory" not in stage.text():
            await stage.pilot.press("pagedown")
            await stage.pilot.pause()
        await stage.pilot.press("end")
        await stage.until(lambda: "word 10299." in stage.text())
        say(stage, 10_300, 10_301)
        await stage.pilot.press("home")
        await stage.until(lambda: stage.board.transcript(TICKET).since()[0].text in below(stage)[0])


async def test_another_ticket_starts_at_its_end(open_app: Opener) -> None:
    async with open_app(calm()) as stage:
        say(stage, 0, 60, "002-images")
        say(stage, 0, 60)
        await stage.pilot.press("tab", "pageup", "tab", "j")
        await stage.until(lambda: "word 59." in stage.text())
        assert stage.screen.transcript.is_following
        await stage.pilot.press("j", "j")
        await stage.until(lambda: "Nothing said yet." in stage.text())
        say(stage, 0, 1, "004-search")
        await stage.until(lambda: "› word 0." in stage.text())
        assert "Nothing said yet" not in stage.text()


async def test_history_appears_above_what_was_said_live(open_app: Opener) -> None:
    async with open_app(calm()) as stage:
        view = stage.screen.transcript
        await stage.pilot.press("tab", "K", "K")
        await stage.pilot.pause()
        before = below(stage)
        history = [Entry(i - 50, NOW, EntryKind.TEXT, f"earlier {i}.") for i in range(50)]
        stage.board.add_history(TICKET, history)
        stage.frame()
        await stage.pilot.pause()
        assert [row for row in before if row] == [row for row in below(stage) if row][-len([r for r in before if r]) :]
        await stage.pilot.press("home")
        await stage.until(lambda: "› earlier 0." in below(stage)[0])
        await stage.pilot.press("end")
        assert view.is_following
        say(stage, 0, 1)
        await stage.until(lambda: "› word 0." in below(stage)[-1])


async def test_history_of_a_ticket_that_says_nothing(open_app: Opener) -> None:
    async with open_app(calm()) as stage:
        await stage.pilot.press("j", "j", "j")
        await stage.until(lambda: "Nothing said yet." in stage.text())
        stage.board.add_history("004-search", [Entry(-1, NOW, EntryKind.TEXT, "earlier.")])
        stage.frame()
        await stage.until(lambda: "› earlier." in stage.text())
        say(stage, 0, 1, "004-search")
        await stage.until(lambda: "› word 0." in stage.text())
        assert "› earlier." in stage.text()


async def test_a_new_width_lays_out_again_and_keeps_the_place(open_app: Opener) -> None:
    async with open_app(calm()) as stage:
        view = stage.screen.transcript
        for number in range(80):
            stage.board.apply(ev.AgentSpoke(TICKET, NOW, f"word {number}. " + "long " * 30))
        stage.frame()
        await stage.pilot.press("tab", "pageup", "pageup")
        await stage.pilot.pause()
        here = view.here
        assert here is not None
        first = here[0].entry.text[:10]
        for width in (60, 130, 40):
            await stage.pilot.resize_terminal(width, 30)
            await stage.until(lambda: any(first in row for row in below(stage)))
            assert not view.is_following
        await stage.pilot.press("end")
        await stage.pilot.resize_terminal(120, 30)
        await stage.until(lambda: "word 79." in stage.text())


async def test_the_wheel_scrolls_at_once_and_holds_the_view(open_app: Opener) -> None:
    async with open_app(calm()) as stage:
        say(stage, 0, 100)
        view = stage.screen.transcript
        await stage.pilot.pause()
        top = view.scroll_offset.y
        await stage.pilot._post_mouse_events([_wheel("Up")], view, offset=(5, 2))
        assert not view.is_following
        assert view.scroll_offset.y - top == -3 or view._lines.at(view.scroll_offset.y) is not None
        await stage.pilot._post_mouse_events([_wheel("Down")], view, offset=(5, 2))
        assert view.is_following


async def test_a_dragged_scroll_bar_holds_the_view_and_follows_at_the_end(open_app: Opener) -> None:
    async with open_app(calm()) as stage:
        say(stage, 0, 100)
        view = stage.screen.transcript
        await stage.pilot.pause()
        view.scroll_y = 5
        await stage.pilot.pause()
        assert not view.is_following
        view.scroll_y = view.max_scroll_y
        await stage.pilot.pause()
        await stage.until(lambda: view.is_following)


async def test_enter_unfolds_and_folds_the_entry_under_the_cursor(open_app: Opener) -> None:
    async with open_app(calm()) as stage:
        call(stage, "a", "Bash pytest -q", "one\ntwo\nthree", detail='{"command": "pytest -q", "timeout": 9}')
        say(stage, 0, 1)
        await stage.pilot.press("tab", "k", "enter")
        await stage.until(lambda: "timeout: 9" in stage.text())
        rows = below(stage)
        place = next(i for i, row in enumerate(rows) if row.startswith("▸$ pytest -q"))
        assert [row.strip() for row in rows[place + 1 : place + 5]] == ["timeout: 9", "one", "two", "three"]
        say(stage, 1, 30)
        assert below(stage)[place].startswith("▸$ pytest -q")
        await stage.pilot.press("enter")
        await stage.until(lambda: "timeout: 9" not in stage.text())


async def test_a_click_turns_an_entry_over(open_app: Opener) -> None:
    async with open_app(calm()) as stage:
        view = stage.screen.transcript
        call(stage, "a", "Bash pytest -q", "one\ntwo\nthree")
        say(stage, 0, 1)
        await stage.pilot.pause()
        place = next(i for i, row in enumerate(below(stage)) if "✓ one" in row)
        await stage.pilot.click(view, offset=(4, place))
        await stage.until(lambda: "three" in stage.text())
        await stage.pilot.click(view, offset=(4, next(i for i, row in enumerate(below(stage)) if "three" in row)))
        await stage.pilot.pause()
        assert "three" in stage.text(), "a click inside of what is unfolded only moves the cursor"
        await stage.pilot.click(view, offset=(4, next(i for i, row in enumerate(below(stage)) if "✓ one" in row)))
        await stage.until(lambda: "three" not in stage.text())


async def test_a_click_on_the_hint_goes_to_the_end(open_app: Opener) -> None:
    async with open_app(calm()) as stage:
        view = stage.screen.transcript
        say(stage, 0, 100)
        await stage.pilot.press("tab", "k")
        say(stage, 100, 101)
        await stage.until(lambda: "▼ 1 new below" in stage.text())
        await stage.pilot.click(view, offset=(20, view.size.height - 1))
        assert view.is_following


async def test_o_unfolds_everything_and_leaves_it_to_itself_again(open_app: Opener) -> None:
    async with open_app(calm(), size=(100, 50)) as stage:
        stage.board.apply(ev.AgentSpoke(TICKET, NOW, "first thought\nsecond thought", thinking=True))
        call(stage, "a", "Edit x.py", "updated", diff=Diff("@@\n" + "\n".join(f"+new {i}" for i in range(15)), 15, 0))
        await stage.until(lambda: "✎ x.py +15   ✓" in stage.text())
        assert "thinking, 2 lines" in stage.text()
        assert "+ new 3" not in stage.text()
        await stage.pilot.press("tab", "o")
        await stage.until(lambda: "+ new 3" in stage.text())
        assert "second thought" in stage.text()
        say(stage, 0, 1)
        await stage.pilot.press("o")
        await stage.until(lambda: "+ new 3" not in stage.text())


async def test_y_copies_what_the_cursor_is_on(open_app: Opener) -> None:
    async with open_app(calm()) as stage:
        call(stage, "a", "Bash ls", "a.py\n\x1b[31mb.py\ud83d")
        await stage.pilot.press("tab", "y")
        assert stage.app.clipboard == "$ ls\na.py\n␛[31mb.py\ufffd"
        await stage.until(lambda: "Copied 3 lines." in stage.text())
        say(stage, 0, 1)
        await stage.pilot.press("y")
        assert stage.app.clipboard == "word 0."


async def test_keys_on_an_empty_transcript(open_app: Opener) -> None:
    async with open_app(calm()) as stage:
        await stage.pilot.press("j", "j", "j", "tab")
        keys = ("j", "k", "J", "K", "pageup", "pagedown", "home", "end", "enter", "o", "y", "v", "slash", "x", "enter")
        await stage.pilot.press(*keys, "n", "N", "escape")
        await stage.until(lambda: "Nothing said yet." in stage.text())
        assert stage.screen.transcript.is_following


async def test_wide_rtl_and_endless_rows_stay_in_place(open_app: Opener) -> None:
    async with open_app(calm(), size=(80, 24)) as stage:
        view = stage.screen.transcript
        stage.board.apply(ev.AgentSpoke(TICKET, NOW, "修复 " * 60 + "שלום עולם " * 20 + "\ttab\x1b[2J\u202e 🏷️👩‍👩‍👧‍👦"))
        call(stage, "a", "Bash cat big", "x" * 1_000_000)
        await stage.pilot.press("enter", "enter", "K", "k", "k")
        await stage.pilot.pause()
        for row in stage.app.screen._compositor.render_strips():
            assert row.cell_length == 80
        assert view._lines.height < 500


async def test_memory_is_bounded(open_app: Opener) -> None:
    async with open_app(calm()) as stage:
        view = stage.screen.transcript
        for part in range(40):
            say(stage, part * 500, part * 500 + 500)
        assert len(view._lines.items) < 2000
        assert view._lines.height < 4200
        assert len(view._strips) < 1000
        await stage.pilot.press("tab", "pageup")
        for part in range(40):
            say(stage, part * 500, part * 500 + 500)
        assert len(view._lines.items) < 2000


def _spoken(stage: Stage) -> list[int]:
    return [int(row.split("› word ")[1].split(".")[0]) for row in below(stage) if "› word" in row]


def _wheel(which: str) -> type:
    from textual import events

    return getattr(events, f"MouseScroll{which}")  # type: ignore[no-any-return]

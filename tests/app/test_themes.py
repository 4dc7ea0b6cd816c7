"""Other colours: chosen from the palette, drawn everywhere, and never needed to understand anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from textual.color import Color

from supervisor.app.theme import HIGH_CONTRAST, THEME
from tests.app.test_ticket_screen import at, settled
from tests.screens.effect_scenes import stuck
from widgets.cells import Tone

if TYPE_CHECKING:
    from tests.app.conftest import Opener, Stage

pytestmark = pytest.mark.anyio


def luminance(color: Color) -> float:
    def linear(part: int) -> float:
        share = part / 255
        return share / 12.92 if share <= 0.03928 else ((share + 0.055) / 1.055) ** 2.4

    return 0.2126 * linear(color.r) + 0.7152 * linear(color.g) + 0.0722 * linear(color.b)


def contrast(one: Color, other: Color) -> float:
    """Return how much two colours stand out from each other, as WCAG has it: 1 to 21."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def backgrounds(stage: Stage) -> set[str]:
    strips = stage.app.screen._compositor.render_strips()
    styles = [segment.style for strip in strips for segment in strip if segment.style is not None]
    return {style.bgcolor.name for style in styles if style.bgcolor is not None}


async def test_the_palette_changes_the_theme(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        await stage.pilot.press("ctrl+p", *"change theme")
        await stage.until(lambda: stage.line("high-contrast") != "")
        await stage.pilot.press("enter")
        await stage.until(lambda: "Search for themes" in stage.text())
        await stage.pilot.press(*"high-con")
        await stage.until(lambda: stage.line("high-contrast") != "")
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.app.theme == HIGH_CONTRAST.name)
        await stage.until(lambda: stage.is_on_board)


@pytest.mark.parametrize(
    "keys", [(), ("enter",), *(("enter", str(n)) for n in range(2, 7)), ("exclamation_mark",), ("T",)]
)
async def test_nothing_of_the_old_colours_is_left(open_app: Opener, keys: tuple[str, ...]) -> None:
    async with open_app(stuck(), size=(165, 52)) as stage:
        if keys[:1] == ("enter",):
            await at(stage, *keys[1:])
        else:
            await stage.pilot.press(*keys)
        await settled(stage)
        assert "#14171a" in backgrounds(stage)
        stage.app.theme = HIGH_CONTRAST.name
        await stage.until(lambda: "#000000" in backgrounds(stage))
        await settled(stage)
        assert "#14171a" not in backgrounds(stage)


@pytest.mark.parametrize("name", ["textual-dark", "textual-light", "nord", "gruvbox", "solarized-light", "ansi-dark"])
async def test_textuals_own_themes_draw_every_view(open_app: Opener, name: str) -> None:
    async with open_app(stuck(), size=(120, 30)) as stage:
        stage.app.theme = name
        await at(stage)
        for key in ("2", "3", "4", "5", "6", "1"):
            await stage.pilot.press(key)
            await settled(stage)
            assert "001-rounding" in stage.text()


async def test_the_contrast_is_high(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        stage.app.theme = HIGH_CONTRAST.name
        await settled(stage)
        table = stage.screen.table
        behind = [HIGH_CONTRAST.background, HIGH_CONTRAST.panel, HIGH_CONTRAST.boost]
        behind.append(HIGH_CONTRAST.variables["block-cursor-blurred-background"])
        for tone in Tone:
            color = table.palette[tone].color
            assert color is not None
            seen = Color.from_rich_color(color)
            for background in behind:
                assert contrast(seen, Color.parse(str(background))) >= 7, (tone, background)


async def test_the_usual_theme_can_be_read(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        table = stage.screen.table
        for tone in set(Tone) - {Tone.FAINT}:
            color = table.palette[tone].color
            assert color is not None
            assert contrast(Color.from_rich_color(color), Color.parse(str(THEME.background))) >= 4.5, tone


async def test_without_colours_there_is_no_theme_to_choose(open_app: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with open_app(stuck()) as stage:
        await stage.pilot.press("ctrl+p", *"change theme")
        await settled(stage)
        assert "high-contrast" not in stage.text()

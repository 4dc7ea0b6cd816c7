"""The colours: one accent, greys for what is calm, and warm ones only for what needs the operator."""

from __future__ import annotations

from textual.theme import Theme

THEME = Theme(
    name="supervise",
    primary="#6cb6c9",
    accent="#6cb6c9",
    secondary="#8a9199",
    success="#8fb98a",
    warning="#e5b567",
    error="#e57c6e",
    foreground="#d5d9de",
    background="#14171a",
    surface="#14171a",
    panel="#23292f",
    boost="#1c2125",
    dark=True,
    variables={
        "text-accent": "#6cb6c9",
        "text-warning": "#e5b567",
        "text-error": "#e57c6e",
        "text-muted": "#8d959e",
        "text-disabled": "#596068",
        "block-cursor-blurred-background": "#2a333b",
        "scrollbar": "#3a424a",
        "scrollbar-background": "#14171a",
        "scrollbar-background-hover": "#14171a",
        "scrollbar-background-active": "#14171a",
        "scrollbar-hover": "#4a545e",
        "scrollbar-active": "#6cb6c9",
    },
)

HIGH_CONTRAST = Theme(
    name="high-contrast",
    primary="#7fdfff",
    accent="#7fdfff",
    secondary="#d8d8d8",
    success="#9dff9d",
    warning="#ffd75f",
    error="#ffb3a8",
    foreground="#ffffff",
    background="#000000",
    surface="#000000",
    panel="#161616",
    boost="#0c0c0c",
    dark=True,
    variables={
        "text-accent": "#7fdfff",
        "text-warning": "#ffd75f",
        "text-error": "#ffb3a8",
        "text-muted": "#dcdcdc",
        "text-disabled": "#c4c4c4",
        "block-cursor-blurred-background": "#00263d",
        "scrollbar": "#dcdcdc",
        "scrollbar-background": "#161616",
        "scrollbar-background-hover": "#161616",
        "scrollbar-background-active": "#161616",
        "scrollbar-hover": "#ffffff",
        "scrollbar-active": "#7fdfff",
    },
)
"""For eyes or screens that see little of greys: every word stands out from what is behind it by 7 to 1 and more."""

MONOCHROME = "ansi-dark"
"""For ``NO_COLOR``: a theme of Textual's in the terminal's own colours, which it then leaves out altogether."""

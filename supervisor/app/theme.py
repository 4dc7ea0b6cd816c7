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

MONOCHROME = "ansi-dark"
"""For ``NO_COLOR``: a theme of Textual's in the terminal's own colours, which it then leaves out altogether."""

"""The theme that the operator chose last: one line in their own state directory, for every batch of theirs."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST_CHARS = 100


def theme_path(environ: Mapping[str, str]) -> Path:
    """Return where the name of the theme is kept."""
    home = environ.get("XDG_STATE_HOME", "")
    return (Path(home) if home else Path(environ.get("HOME", "")) / ".local" / "state") / "supervise" / "theme"


def read_theme(path: Path) -> str:
    """Return the name of the theme; empty where none was chosen, or nothing can be read."""
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(_MOST_CHARS).strip()
    except (OSError, ValueError):
        return ""


def keep_theme(path: Path, name: str) -> None:
    """Keep the name of a theme. Blocks; what cannot be written is not remembered, and nothing else comes of it."""
    own = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        own.write_text(f"{name}\n", encoding="utf-8")
        own.replace(path)
    except OSError:
        with suppress(OSError):
            own.unlink()

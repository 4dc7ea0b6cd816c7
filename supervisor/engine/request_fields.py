"""The fields of a request from another shell: what they must be, and how a name is found that was typed by hand."""

from __future__ import annotations

from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_MOST_COMPARED = 200
"""Looking for the nearest name is slow, and the screen waits meanwhile: most names, and letters of one, to look at."""


class BadRequest(Exception):  # noqa: N818
    """A request makes no sense. The text is for whoever sent it."""


def text(request: Mapping[str, Any], name: str, default: str | None = None) -> str:
    """Return a field that must be text. Raises BadRequest."""
    value = request.get(name)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise BadRequest(f'"{name}" must be text')
    return value


def find_name(name: str, known: Collection[str], what: str) -> tuple[str | None, str]:
    """Return what a name or the only one that begins with it stands for, else None and what is wrong with it.

    A ticket's forks begin with its name, so the name of a family means its parent.
    """
    if name in known:
        return name, ""
    all_ = {k for k in known if name and k.startswith(name)}
    begin = [k for k in known if k in all_ and not any(k[:end] in all_ for end, c in enumerate(k) if c == ".")]
    if len(begin) == 1:
        return begin[0], ""
    if begin:
        return None, f'"{name}" could be {", ".join(begin[:5])}{", …" if len(begin) > 5 else ""}'
    near = get_close_matches(name[:_MOST_COMPARED], islice(known, _MOST_COMPARED), n=1)
    return None, f'there is no {what} "{name}"' + (f': did you mean "{near[0]}"?' if near else "")

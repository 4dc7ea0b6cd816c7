"""Secrets are taken by value out of whatever agents, commands and other systems have said, before it goes anywhere.

What the operator wrote, in the file or in a message, is left as it stands: it is sent word for word.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, AnyStr, TypeVar, cast

from supervisor.core import events as ev
from supervisor.core.diffs import Diff
from supervisor.core.payloads import MIN_SECRET, spellings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from supervisor.core.model import Entry

_TEXTS: Mapping[type[ev.Event], tuple[str, ...]] = {
    ev.StateChanged: ("detail",),
    ev.TurnEnded: ("errors", "text", "denials"),
    ev.AttemptEnded: ("detail", "stderr_tail", "lost"),
    ev.Verified: ("output",),
    ev.LettersClosed: ("says",),
    ev.GrantUsed: ("detail",),
    ev.AgentSpoke: ("text",),
    ev.ToolCalled: ("summary", "detail", "diff"),
    ev.ToolReturned: ("text", "diff"),
    ev.Retrying: ("error",),
    ev.Noted: ("text",),
}
"""What others have said in each kind of event. Asks are not here: who opens one has its whole input to look through."""
CUT = "\n… "
"""How a text goes on that was cut, before the words that say how much is missing."""
T = TypeVar("T")
E = TypeVar("E", bound=ev.Event)


class Redactor:
    """Replaces the values of some secrets by their names, such as ``[GITHUB_TOKEN]``; see ``payloads.redact``."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._spelled = spellings(secrets)
        self._bytes = tuple((value.encode(errors="surrogateescape"), name.encode()) for value, name in self._spelled)

    def text(self, text: str) -> str:
        """Return a text without the values."""
        for value, name in self._spelled:
            text = text.replace(value, name)
        return self._whole(text) if CUT in text else text

    def _whole(self, text: str) -> str:
        """Return a text that was cut without what it holds of a secret in which it was cut."""
        said, cut, missing = text.rpartition(CUT)
        for value, name in self._spelled:
            begun = _begun(said, value)
            if len(said) - begun >= MIN_SECRET:
                said = said[:begun] + name
        return said + cut + missing

    def event(self, event: E) -> E:
        """Return an event without them, where it repeats what others have said."""
        return self._without(event, _TEXTS.get(type(event), ()))

    def entry(self, entry: Entry) -> Entry:
        """Return an entry of a transcript without them."""
        return self._without(entry, ("text", "detail", "diff"))

    def stream(self) -> RedactedStream:
        """Return what takes them out of bytes that come piece by piece."""
        return RedactedStream(self._bytes)

    def _without(self, of: T, names: tuple[str, ...]) -> T:
        told = {name: getattr(of, name) for name in names}
        clear = {name: self._any(value) for name, value in told.items()}
        changed: T = of if clear == told else replace(cast("Any", of), **clear)
        return changed

    def _any(self, value: object) -> object:
        match value:
            case str():
                return self.text(value)
            case tuple():
                return tuple(map(self._any, value))
            case Diff():
                return replace(value, text=self.text(value.text))
            case _:
                return value


class RedactedStream:
    """Keeps back the end of what came while it may be the beginning of a secret."""

    def __init__(self, spelled: tuple[tuple[bytes, bytes], ...]) -> None:
        self._spelled = spelled
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """Take the next piece, and return what is certain of all that came so far."""
        came = self._held + data
        cut = self._certain(came)
        self._held = came[cut:]
        return self._clear(came[:cut])

    def end(self) -> bytes:
        """Return what is left: nothing comes any more."""
        held, self._held = self._held, b""
        return self._clear(held)

    def _clear(self, data: bytes) -> bytes:
        for value, name in self._spelled:
            data = data.replace(value, name)
        return data

    def _certain(self, came: bytes) -> int:
        """Return up to where nothing can become, or is a part of, a secret that goes on behind it."""
        cut = min((_begun(came, value) for value, _ in self._spelled), default=len(came))
        before = -1
        while before != cut:  # a whole one may reach over the cut
            before = cut
            for value, _ in self._spelled:
                place = came.rfind(value, 0, cut + len(value) - 1)
                if 0 <= place < cut < place + len(value):
                    cut = place
        return cut


def _begun(came: AnyStr, value: AnyStr) -> int:
    """Return where the longest end of ``came`` begins that is a beginning of ``value``, but not all of it."""
    place = max(0, len(came) - len(value) + 1)
    while (place := came.find(value[:1], place)) >= 0:
        if value.startswith(came[place:]):
            return place
        place += 1
    return len(came)

"""Messages that were written and not sent: kept for as long as the batch is there, also over a restart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.app.lookup import Lookup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from supervisor.app.ports import BatchPort
    from supervisor.core.errors import SupervisorError


class Drafts:
    """Knows the drafts of this run, and asks for those of earlier ones when they are wanted."""

    def __init__(self, port: BatchPort) -> None:
        self._port = port
        self._known: dict[str, str] = {}
        """By the name of the setting; empty where there is none any more."""

    def read(self, tickets: Iterable[str], came: Callable[[str], None]) -> Lookup[str] | None:
        """Have a draft for these tickets handed over.

        Args:
            tickets: Whom it is for.
            came: Called with it: at once if it is of this run, later if it has to be read, and never without one.

        Returns:
            The reading under way, to be dropped when nobody wants it any more; None where nothing has to be read.
        """
        name = _name(tickets)
        if name in self._known:
            if self._known[name]:
                came(self._known[name])
            return None

        def found(text: str | SupervisorError) -> None:
            if isinstance(text, str) and text:
                self._known.setdefault(name, text)
                came(text)

        lookup: Lookup[str] = Lookup(self._port, found)
        lookup.ask(lambda reader: reader.setting(name))
        return lookup

    def keep(self, tickets: Iterable[str], text: str) -> None:
        """Keep what was written; blank words leave nothing."""
        name, words = _name(tickets), text if text.strip() else ""
        if self._known.get(name, "") != words:
            self._port.remember(name, words)
        self._known[name] = words

    def drop(self, tickets: Iterable[str]) -> None:
        """Forget a draft: it was sent."""
        self.keep(tickets, "")


def _name(tickets: Iterable[str]) -> str:
    return " ".join(["draft", *sorted(tickets)])

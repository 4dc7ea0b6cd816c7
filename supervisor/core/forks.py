"""Forks: what is kept of one for good, how it is named, and what its ticket is told to do. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from supervisor.core.spec import TicketSpec


@dataclass(frozen=True, slots=True)
class Fork:
    """A ticket that was begun from another one: a row of the forks table. Nothing of it changes later."""

    child: str
    parent: str
    letter: str
    """The operator's letter that asked for it: it never makes a second one."""
    session_id: str
    """The copy of the conversation that the child goes on with."""
    parent_session: str
    cut: str
    """The last message of the parent's that the copy holds."""
    files: str
    """Commit that holds the files the child begins with; its own parent is where the child's branch begins."""
    files_as_of: str
    """As of when that is, in words that go on a sentence."""
    prompt: str
    title: str
    budget_usd: float | None
    max_turns: int | None
    model: str | None
    """None means the parent's."""
    created: float

    @property
    def start(self) -> str:
        """The commit that the child's branch begins at, as git takes it."""
        return f"{self.files}^"


def names(parent: str) -> Iterator[str]:
    """Yield the names of a ticket's forks: ``001.2``, ``001.3``, …; the ticket itself is the first of them."""
    return (f"{parent}.{number}" for number in count(2))


def spec_of(fork: Fork, parent: TicketSpec) -> TicketSpec:
    """Return what the child is to do: its own prompt and limits, and everything else as its parent has it now."""
    return replace(
        parent,
        id=fork.child,
        title=fork.title,
        prompt=fork.prompt,
        after=(),
        base=fork.start,
        budget_usd=fork.budget_usd,
        max_turns=fork.max_turns,
        model=fork.model or parent.model,
    )

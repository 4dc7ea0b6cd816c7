"""What dialogs look up, told in few words: a conversation, its prompts, and what dry runs find."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from supervisor.core.changes import ChangeKind, Changes, FileChange, LeftOut
from supervisor.core.cuts import Cut, CutKind
from supervisor.core.effects import EffectState
from supervisor.core.model import PromptKind
from supervisor.core.rewinds import Checkpoint, RewindPreview, Source
from tests.screens.effect_scenes import record, stuck, view
from tests.screens.scenes import HOSTILE, NOW

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence

    from supervisor.core.board import Board
    from supervisor.core.errors import SupervisorError
    from supervisor.core.events import Event
    from supervisor.core.model import Entry

TICKET = "005-export"
"""Rests, so that everything can be done to it."""

CUTS = (
    Cut("c1", NOW - 3600, CutKind.TOOLS, "Read, Grep", 1),
    Cut("c2", NOW - 3500, CutKind.REPLY, "The columns are in orders.py. I will add\nan exporter beside it.", 1),
    Cut("c3", NOW - 900, CutKind.TOOLS, "Edit, Bash: pytest", 2),
    Cut("c4", NOW - 700, CutKind.REPLY, "Done: 14 tests pass.", 2),
)
POINTS = (
    Checkpoint(3, "p3", PromptKind.MESSAGE, "Use semicolons.", NOW - 600, "s3", in_session=True),
    Checkpoint(2, "p2", PromptKind.MESSAGE, "Now write the exporter.", NOW - 1200, "s2", in_session=True),
    Checkpoint(1, "p1", PromptKind.TASK, "Export orders as CSV", NOW - 3700, "s1", in_session=True),
)
EDITED = FileChange("shop/export.py", ChangeKind.MODIFIED, 4, 31)
CREATED = FileChange("tests/test_export.py", ChangeKind.DELETED, 0, 40)
LOGO = FileChange("docs/columns.png", ChangeKind.ADDED, None, None)
PUBLISHED = record(TICKET, "announce", EffectState.DONE, {"channel": "shop"})


def preview(uuid: str, source: Source = Source.SNAPSHOT) -> RewindPreview:
    """Return the dry run of one of `POINTS`: the later it is, the less there is to take back."""
    point = next((point for point in POINTS if point.uuid == uuid), None)
    files = {"p3": (EDITED,), "p2": (EDITED, CREATED)}.get(uuid, (EDITED, CREATED, LOGO))
    found = RewindPreview(
        TICKET,
        source,
        point.to if point is not None else "how they were at the beginning",
        Changes(files),
        stays_done=(PUBLISHED,),
        notes=("What commands changed is taken back too. Files that git ignores stay as they are.",),
    )
    if source is Source.CHECKPOINT:
        left = (LeftOut("build/orders.csv", "not changed by the agent's edit tools"),)
        return replace(found, changes=Changes((EDITED,)), not_restored=left, notes=("Only edits are taken back.",))
    return replace(found, outside=(EDITED,)) if uuid == "p2" else found


@dataclass
class Library:
    """Answers what dialogs look up, of any ticket. ``gate`` holds answers back until it is set."""

    cuts_found: tuple[Cut, ...] = CUTS
    points: tuple[Checkpoint, ...] = POINTS
    happened: tuple[Event, ...] = ()
    fault: SupervisorError | None = None
    """Raised instead of every answer."""
    refusal: str = ""
    base: str = "how they were at the beginning"
    """Where starting over goes back to."""
    gate: asyncio.Event | None = None
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    """The dry runs that were asked for: ticket, where to, and source."""

    async def _wait(self) -> None:
        if self.gate is not None:
            await self.gate.wait()
        if self.fault is not None:
            raise self.fault

    async def cuts(self, _: str) -> tuple[Cut, ...]:
        """Return the sound points."""
        await self._wait()
        return self.cuts_found

    async def checkpoints(self, _: str) -> tuple[Checkpoint, ...]:
        """Return the prompts."""
        await self._wait()
        return self.points

    async def changed_since(self, _: str, points: Sequence[Checkpoint]) -> dict[str, Changes]:
        """Return what has changed since each of them."""
        return {point.uuid: preview(point.uuid).changes for point in points if point.snapshot}

    async def preview(self, ticket: str, to: str, source: Source = Source.SNAPSHOT) -> RewindPreview:
        """Return a dry run."""
        self.asked.append((ticket, to, source.value))
        await self._wait()
        found = replace(preview(to, source), refusal=self.refusal)
        return replace(found, to=self.base) if source is Source.BASE else found

    async def setting(self, _: str) -> str:
        """Return nothing: no draft was left by an earlier run."""
        return ""

    async def history(self, *_: object) -> tuple[Entry, ...]:
        """Return nothing: all was said in this run."""
        return ()

    async def events(self, _: str | None = None) -> tuple[Event, ...]:
        """Return what lasts of what happened."""
        await self._wait()
        return self.happened


def at_rest() -> Board:
    """Return the busy batch with its effects; `TICKET` rests and has done one too."""
    board = stuck()
    board.show_effect(view(PUBLISHED))
    return board


def hostile_library() -> Library:
    """Return answers in which everything that is not ours is as bad as it gets."""
    cuts = tuple(Cut(f"c{i}", NOW - i, CutKind.REPLY, f"{text}\n{text}", i) for i, text in enumerate(HOSTILE))
    points = tuple(
        Checkpoint(i, f"p{i}", PromptKind.MESSAGE, text, NOW - i, "s", in_session=True)
        for i, text in enumerate(HOSTILE, 1)
    )
    return Library(cuts, points)

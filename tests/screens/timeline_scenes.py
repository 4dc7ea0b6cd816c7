"""Two hours of a batch: a board, and the events that led to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.core import events as ev
from supervisor.core.model import Mode, Outcome, State, Why
from tests.screens.scenes import NOW, Story
from tests.screens.ticket_scenes import Shelf

if TYPE_CHECKING:
    from supervisor.core.board import Board

MIN = 60.0


def two_hours(queued: int = 2) -> tuple[Board, Shelf]:
    """Return a batch that ran for two hours, with so many tickets that never began, and what the store holds of it."""
    story = Story(budget=5.0)
    happened: list[ev.Event] = []
    story.board.listen(lambda event, _, __: happened.append(event))
    for number, title in enumerate(("rounding", "images", "deploy", "search", "export"), 1):
        story.add(f"00{number}-{title}", title)
    for number in range(queued):
        story.add(f"{100 + number}-later", "waits")
    start, move = story.start, story.move
    start("001-rounding", at=NOW - 120 * MIN)
    _turn(story, "001-rounding", 0.4, NOW - 90 * MIN)
    _end(story, "001-rounding", Outcome.API_ERROR, NOW - 90 * MIN)
    move("001-rounding", State.PARKED, at=NOW - 90 * MIN, until=NOW - 70 * MIN)
    move("001-rounding", State.QUEUED, at=NOW - 70 * MIN)
    start("001-rounding", at=NOW - 69 * MIN, mode=Mode.RESUME)
    _turn(story, "001-rounding", 0.3, NOW - 20 * MIN)
    _end(story, "001-rounding", Outcome.DONE, NOW - 20 * MIN)
    move("001-rounding", State.DONE, at=NOW - 20 * MIN)
    start("002-images", at=NOW - 100 * MIN)
    _turn(story, "002-images", 0.9, NOW - 60 * MIN)
    _end(story, "002-images", Outcome.FAILED_RUN, NOW - 60 * MIN)
    move("002-images", State.FAILED, at=NOW - 60 * MIN)
    start("003-deploy", at=NOW - 80 * MIN)
    _turn(story, "003-deploy", 0.2, NOW - 50 * MIN)
    move("003-deploy", State.NEEDS_YOU, at=NOW - 50 * MIN, why=Why.UNRESOLVED_EFFECT)
    start("004-search", at=NOW - 30 * MIN)
    return story.board, Shelf(happened=tuple(sorted(happened, key=lambda event: event.at)))


def _turn(story: Story, ticket: str, usd: float, at: float) -> None:
    number = story.board[ticket].attempts
    story.board.apply(ev.TurnEnded(ticket, at, number, f"u-{ticket}", "success", "completed", False, 4, usd))


def _end(story: Story, ticket: str, outcome: Outcome, at: float) -> None:
    story.board.apply(ev.AttemptEnded(ticket, at, story.board[ticket].attempts, outcome))

"""Boards for tests and for looking at: real boards, fed with events, and a port that only takes notes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from supervisor.core import events as ev
from supervisor.core.board import Board
from supervisor.core.diffs import Diff
from supervisor.core.errors import SupervisorError
from supervisor.core.model import BatchTotals, Mode, Outcome, PromptKind, State, Why

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from supervisor.core.asks import AskAnswer
    from supervisor.engine.desk import Ruling

NOW = 1_790_000_000.0
"""The moment of every scene."""


@dataclass
class FakePort:
    """A batch without an engine. Verbs only leave their pending mark, as the engine's would."""

    board: Board
    submitted: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    told: list[dict[str, Any]] = field(default_factory=list)
    """What each of them was told."""
    reader: Any = None
    """Answers what the screens look up: an object with some of the methods of ``Reader``."""
    settings: dict[str, str] = field(default_factory=dict)
    """What the screens keep."""
    slots: int | None = None
    stops: int = 0
    kills: int = 0
    rulings: list[tuple[Ruling, bool]] = field(default_factory=list)
    said: list[AskAnswer] = field(default_factory=list)
    """What was answered to asks."""
    probes: list[str] = field(default_factory=list)
    answers: list[Callable[[str | None], None]] = field(default_factory=list)
    """Ways to answer the decisions, answers and probes, in the order they came."""
    tasks: list[asyncio.Future[None]] = field(default_factory=list)
    """Lookups under way."""

    def submit(self, verb: str, tickets: Sequence[str], told: Mapping[str, Any] | None = None) -> None:
        """Note the verb and mark the tickets."""
        self.submitted.append((verb, tuple(tickets)))
        self.told.append(dict(told or {}))
        for ticket in tickets:
            self.board.apply(ev.VerbPending(ticket, NOW, verb))

    def look(self, work: Callable[[Any], Awaitable[Any]], answered: Callable[[Any], None]) -> None:
        """Look it up at once, on the caller's loop."""

        async def go() -> None:
            try:
                if self.reader is None:
                    raise SupervisorError("there is nothing to read")
                answered(await work(self.reader))
            except SupervisorError as error:
                answered(error)

        self.tasks.append(asyncio.ensure_future(go()))

    def set_slots(self, slots: int) -> None:
        """Note it."""
        self.slots = slots
        self.board.announce(slots=slots)

    def pause_starting(self, on: bool) -> None:
        """Say so."""
        self.board.announce(starting_paused=on)

    def remember(self, name: str, value: str) -> None:
        """Keep it."""
        self.settings[name] = value

    def rule(self, ruling: Ruling, answered: Callable[[str | None], None], *, once_more: bool = False) -> None:
        """Note the decision."""
        self.rulings.append((ruling, once_more))
        self.answers.append(answered)

    def answer(self, answer: AskAnswer, answered: Callable[[str | None], None]) -> None:
        """Note the answer."""
        self.said.append(answer)
        self.answers.append(answered)

    def probe(self, key: str, answered: Callable[[str | None], None]) -> None:
        """Note it."""
        self.probes.append(key)
        self.answers.append(answered)

    def request_stop(self) -> None:
        """Note it."""
        self.stops += 1

    def kill(self) -> None:
        """Note it."""
        self.kills += 1


class Story:
    """Tells a board what happened, in few words."""

    def __init__(self, name: str = "tinyshop", slots: int = 4, budget: float | None = 20.0) -> None:
        self.board = Board(BatchTotals(name=name, slots=slots, budget_usd=budget))
        self._number = 0

    def add(self, ticket: str, title: str = "", *, budget: float | None = 1.0, **more: object) -> None:
        """Name a ticket."""
        more |= {"budget_usd": budget, "instructions": "i"}
        self.board.apply(ev.TicketAdded(ticket, NOW - 900, title, self._number, **more))  # type: ignore[arg-type]
        self._number += 1

    def start(self, ticket: str, prompt: str = "Do it.", *, at: float = NOW - 240, mode: Mode = Mode.FRESH) -> None:
        """Bring a ticket to running."""
        number = self.board[ticket].attempts + 1 if ticket in self.board else 1
        apply = self.board.apply
        self.move(ticket, State.STARTING, at=at)
        apply(ev.WorktreeReady(ticket, at, f"/tmp/w/{ticket}", f"supervise/tinyshop/{ticket}", "abc"))
        apply(ev.AttemptStarted(ticket, at, number, mode, "5e0c", model="claude-sonnet-4-5"))
        self.move(ticket, State.RUNNING, at=at, detail="asked the agent")
        apply(ev.PromptStored(ticket, at, number, f"u-{ticket}", PromptKind.TASK, prompt, "i"))

    def move(self, ticket: str, to: State, *, at: float = NOW - 60, why: Why | None = None, **more: object) -> None:
        """Move a ticket."""
        self.board.apply(ev.StateChanged(ticket, at, to, why, **more))  # type: ignore[arg-type]

    def turn(self, ticket: str, usd: float, subtype: str = "success", reason: str = "completed", n: int = 4) -> None:
        """End a turn."""
        bad = (subtype, reason) != ("success", "completed")
        number = self.board[ticket].attempts
        self.board.apply(ev.TurnEnded(ticket, NOW - 61, number, f"u-{ticket}", subtype, reason, bad, n, usd))

    def say(self, ticket: str, text: str, *, at: float = NOW - 20, **more: bool) -> None:
        """Let the agent speak."""
        self.board.apply(ev.AgentSpoke(ticket, at, text, **more))

    def call(self, ticket: str, name: str, summary: str, result: str | None = None, **more: object) -> None:
        """Let the agent use a tool, and the tool answer."""
        at, took = NOW - 18, more.pop("took", 0.4)
        self._number += 1
        key = f"t{self._number}"
        self.board.apply(ev.ToolCalled(ticket, at, key, name, summary, nested=bool(more.get("nested"))))
        if result is not None:
            self.board.apply(ev.ToolReturned(ticket, at + took, key, result, **more))  # type: ignore[arg-type,operator]


def calm() -> Board:
    """Return a small batch in which everything goes well."""
    story = Story(budget=5.0)
    for ticket, title in _CALM:
        story.add(ticket, title)
    story.start("001-rounding", "Discounts round the wrong way: fix pricing.py and its tests.")
    story.say("001-rounding", "The discount is rounded before it is summed. I'll fix pricing.py.")
    story.call("001-rounding", "Edit", "pricing.py", "updated")
    story.call("001-rounding", "Bash", "pytest -q", "14 passed in 0.31s", took=1.2)
    for ticket, usd in (("002-images", 0.4), ("003-slugs", 0.22)):
        story.start(ticket)
        story.turn(ticket, usd)
        story.move(ticket, State.DONE, detail="verified")
    return story.board


_CALM = (
    ("001-rounding", "Discounts round the wrong way"),
    ("002-images", "Serve images in two sizes"),
    ("003-slugs", "Slugs keep their accents"),
    ("004-search", "Search finds plurals"),
)


def busy() -> Board:
    """Return a batch with a ticket in every state and a conversation with everything in it."""
    story = Story()
    for ticket, title, budget in _BUSY:
        story.add(ticket, title, budget=budget, reserve_usd=0.05)
    story.add("006-cart", "Keep the cart for a week", after=("001-rounding",))
    story.add("001-rounding.2", "Round half to even instead", parent="001-rounding")
    _conversation(story, "001-rounding")
    story.start("001-rounding.2", mode=Mode.FORK)
    story.call("001-rounding.2", "Bash", "pytest -q tests/test_pricing.py")
    story.start("002-images")
    story.turn("002-images", 0.4, n=6)
    story.move("002-images", State.DONE, detail="verified")
    story.start("003-deploy")
    story.turn("003-deploy", 0.31)
    story.move("003-deploy", State.NEEDS_YOU, why=Why.UNRESOLVED_EFFECT, detail='effect "deploy" unresolved')
    story.start("004-search")
    story.turn("004-search", 0.12, reason="api_error")
    story.move("004-search", State.PARKED, detail="API 529", until=NOW + 41)
    story.start("005-export")
    story.turn("005-export", 0.05, "error_during_execution", "aborted_tools")
    story.move("005-export", State.PAUSED, detail="interrupted by you")
    for _ in range(3):
        story.start("007-tax")
        story.turn("007-tax", 0.326, "error_max_budget_usd", "budget_exhausted", n=9)
        story.move("007-tax", State.NEEDS_YOU, why=Why.LIMIT, detail="budget reached")
        story.move("007-tax", State.QUEUED)
    story.move("007-tax", State.NEEDS_YOU, why=Why.LIMIT, detail="budget reached", at=NOW - 30)
    story.start("008-docs")
    story.board.apply(ev.AttemptEnded("008-docs", NOW - 50, 1, Outcome.CRASHED, "exit 1", 1, "boom", 0.03))
    story.move("008-docs", State.FAILED, detail="the agent exited with 1")
    story.move("009-legacy", State.CANCELLED, detail="cancelled by you")
    story.move("010-mail", State.STARTING, detail="preparing")
    return story.board


_BUSY = (
    ("001-rounding", "Discounts round the wrong way", 1.0),
    ("002-images", "Serve images in two sizes", 1.0),
    ("003-deploy", "Deploy build 418 to staging", 1.0),
    ("004-search", "Search finds plurals", 1.0),
    ("005-export", "Export orders as CSV", 1.0),
    ("007-tax", "Reduced rates for books", 1.0),
    ("008-docs", "Rewrite the shipping page", None),
    ("009-legacy", "Remove the old importer", 1.0),
    ("010-mail", "Receipts by mail", 2.5),
)


_DIFF = Diff(
    "@@ -13,3 +13,3 @@\n     factor = 1 - percent / 100\n"
    "-    return sum((to_cents(price * factor) for price in prices), Decimal(0))\n"
    "+    return to_cents(sum(prices, Decimal(0)) * factor)",
    1,
    1,
)


def _conversation(story: Story, ticket: str) -> None:
    story.start(ticket, "Discounts round the wrong way.\n\nFix pricing.py and its tests, and say what you changed.")
    story.say(ticket, "Let me see how totals are made.", thinking=True)
    story.call(ticket, "Read", "tinyshop/pricing.py", "\n".join(f"{i} line" for i in range(1, 41)))
    story.say(ticket, "The discount is rounded before it is summed. I'll fix pricing.py.")
    story.call(ticket, "Edit", "tinyshop/pricing.py", "The file has been updated.", diff=_DIFF)
    story.call(ticket, "Bash", "pytest -q", "F..\nE  assert 9.99 == 10.0\n1 failed, 13 passed", is_error=True, took=1.2)
    story.call(ticket, "Task", "look for other callers")
    story.say(ticket, "Two callers round on their own: cart.py and receipt.py.", nested=True)
    story.call(ticket, "Grep", "round\\(", "cart.py:14\nreceipt.py:33", nested=True)
    story.board.apply(ev.Retrying(ticket, NOW - 15, 1, 10, 2.5, 529))
    story.say(ticket, "Both now use money.total(), which rounds once, at the end:\n\n- cart.py\n- receipt.py")
    story.call(ticket, "Bash", "pytest -q", "14 passed in 0.31s", took=1.4)
    story.board.apply(ev.TurnEnded(ticket, NOW - 12, 1, "x", "success", "completed", False, 4, 0.21))
    story.call(ticket, "Edit", "tinyshop/receipt.py")


HOSTILE = (
    "Fix [/",
    "x [/b] y [red]z[/red]",
    "list[str] [@click=app.quit]hi[/]",
    "clear \x1b[2J\x1b]0;x\x07 screen",
    "clip \x1b]52;c;aGk=\x07 \x9b31m \x00",
    "bidi \u202etxt.exe\u202c \u2066x\u2069",
    "🏷️ ⚙️ #️⃣ 1️⃣ 修复 日本語 labels",
    "👩‍👩‍👧‍👦 👍🏽 🇩🇪 family, thumb, flag",
    "cut \ud83d half",
    "tab\there\r\nnew line\u2028sep",
    "e" + "\u0301" * 30 + " marks",
    "a" * 5000,
)
"""Titles that broke screens: markup, escapes, wide and joined characters, halves of them, and too much."""


def hostile() -> Board:
    """Return a batch in which everything that is not ours is as bad as it gets."""
    story = Story(name="shop [/b] \x1b[2J")
    for number, text in enumerate(HOSTILE, 1):
        ticket = f"{number:03}-{'修复' if number == 7 else 'hard'}"
        story.add(ticket, text)
        story.start(ticket, prompt=f"{text}\n{text}")
        story.say(ticket, f"I read {text}")
        story.call(ticket, "Bash", text, f"{text}\n{text}", is_error=number % 2 == 0)
        story.say(ticket, text)
    story.board.announce(notice="rate limit [/x] \x1b[31m until 14:00")
    return story.board


def crowd(tickets: int = 200) -> Board:
    """Return a batch with many tickets, most of them queued."""
    story = Story(name="crowd", slots=20, budget=200.0)
    for number in range(1, tickets + 1):
        story.add(f"{number:03}-ticket", f"Ticket number {number}")
        if number <= 20:
            story.start(f"{number:03}-ticket")
    return story.board


def empty() -> Board:
    """Return a batch without tickets."""
    return Story(name="empty").board


SCENES = {"calm": calm, "busy": busy, "hostile": hostile, "crowd": crowd, "empty": empty}

"""Boards with asks of every kind on them, and tickets that need the operator for every other reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from supervisor.core import events as ev
from supervisor.core.asks import AskKind
from supervisor.core.model import Outcome, State, Why
from tests.screens.scenes import HOSTILE, NOW, Story

if TYPE_CHECKING:
    from supervisor.core.board import Board

EDIT, COMMAND, ONE, MANY, PLAN = "ask-edit", "ask-command", "ask-one", "ask-many", "ask-plan"
"""Ids of the asks."""
OLD = """    factor = 1 - percent / 100
    return sum((to_cents(price * factor) for price in prices), Decimal(0))
"""
NEW = """    factor = 1 - Decimal(percent) / 100
    return to_cents(sum(prices, Decimal(0)) * factor)
"""
AUDIENCE: dict[str, Any] = {
    "question": "Which audience is this page for?",
    "header": "Audience",
    "options": [
        {"label": "Developers", "description": "People who call the API from their own programs."},
        {"label": "Shop owners", "description": "People who read it once, to decide."},
        {"label": "Both", "description": "Then it is two pages, and I would link them."},
    ],
    "multiSelect": False,
}
TOPICS: dict[str, Any] = {
    "question": "What should it cover?",
    "header": "Topics",
    "options": [{"label": "Rates"}, {"label": "Returns", "description": "within 30 days"}, {"label": "Customs"}],
    "multiSelect": True,
}
PLAN_TEXT = """# Round once, at the end

1. **pricing.py**: keep `Decimal` throughout, and round in `money.total()` only.
2. cart.py and receipt.py: call `money.total()` instead of rounding.
3. Tests: one for each rate, with the examples of the issue.

What I leave alone:

- the importer, which has its own rounding
- the public API
"""


def opened(ident: str, ticket: str, kind: AskKind, tool: str, given: dict[str, Any], **more: Any) -> ev.AskOpened:
    """Return what an agent asks."""
    facts: dict[str, Any] = {"at": NOW - 60, "summary": "", "rules": (), "reason": "", "agent": None} | more
    return ev.AskOpened(
        ticket, facts["at"], ident, 1, kind, tool, f"f-{ident}", facts["summary"], given, f"t-{ident}",
        facts["reason"], facts["rules"], facts["agent"],
    )  # fmt: skip


def ask(board: Board, event: ev.AskOpened) -> None:
    """Let an agent ask, and its ticket wait for the answer."""
    board.apply(event)
    found = board.ask(event.id)
    assert found is not None
    board.apply(ev.StateChanged(event.ticket, event.at, State.NEEDS_YOU, found.why, found.detail, live=True))


def asking() -> Board:
    """Return a batch in which four agents ask for an edit, a command, answers and a plan."""
    story = Story()
    for ticket, title in (
        ("001-rounding", "Discounts round the wrong way"),
        ("002-images", "Serve images in two sizes"),
        ("003-docs", "Rewrite the shipping page"),
        ("004-plan", "Round once"),
        ("005-topics", "Say what is shipped where"),
        ("006-cart", "Keep the cart for a week"),
    ):
        story.add(ticket, title)
        story.start(ticket)
    ask(
        story.board,
        opened(
            EDIT, "001-rounding", AskKind.PERMISSION, "Edit",
            {"file_path": "/shop/tinyshop/pricing.py", "old_string": OLD, "new_string": NEW, "replace_all": False},
            summary="tinyshop/pricing.py", rules=("Edit(/shop/tinyshop/**)",), at=NOW - 250,
        ),
    )  # fmt: skip
    ask(
        story.board,
        opened(
            COMMAND, "002-images", AskKind.PERMISSION, "Bash",
            {"command": "rm -r build && make images SIZES='400 800'", "description": "Build both sizes from scratch"},
            summary="rm -r build && make images SIZES='400 800'", reason="rm is not among the allowed commands",
            rules=("Bash(rm:*)", "Bash(make images:*)"), agent="builder", at=NOW - 130,
        ),
    )  # fmt: skip
    ask(story.board, question(ONE, "003-docs", [AUDIENCE], at=NOW - 75))
    ask(
        story.board,
        opened(
            PLAN, "004-plan", AskKind.PLAN, "ExitPlanMode", {"plan": PLAN_TEXT, "planFilePath": "/c/plans/round.md"},
            summary="# Round once, at the end", at=NOW - 40,
        ),
    )  # fmt: skip
    ask(story.board, question(MANY, "005-topics", [TOPICS, AUDIENCE], at=NOW - 20))
    return story.board


def question(ident: str, ticket: str, asked: list[dict[str, Any]], **more: Any) -> ev.AskOpened:
    """Return questions of an agent's."""
    summary = str(asked[0]["question"])
    return opened(ident, ticket, AskKind.QUESTION, "AskUserQuestion", {"questions": asked}, summary=summary, **more)


def stopped() -> Board:
    """Return a batch whose tickets stopped for a limit, a check, a refused key and a crash, and one that asks."""
    story = Story()
    for ticket in ("001-limit", "002-check", "003-key", "004-crash", "005-asks"):
        story.add(ticket, f"The ticket {ticket}")
        story.start(ticket)
    story.turn("001-limit", 0.98, "error_max_budget_usd", "budget_exhausted", n=9)
    story.move("001-limit", State.NEEDS_YOU, why=Why.LIMIT, detail="budget reached", at=NOW - 300)
    story.turn("002-check", 0.31)
    story.move("002-check", State.NEEDS_YOU, why=Why.VERIFY, detail="the check still fails", at=NOW - 200)
    story.move("003-key", State.NEEDS_YOU, why=Why.AUTH, detail="API 401: the key or login was refused", at=NOW - 100)
    story.board.apply(ev.AttemptEnded("004-crash", NOW - 50, 1, Outcome.CRASHED, "exit 1", 1, "boom", 0.03))
    story.move("004-crash", State.FAILED, detail="the agent exited with 1", at=NOW - 50)
    given = {"command": "make"}
    ask(story.board, opened(COMMAND, "005-asks", AskKind.PERMISSION, "Bash", given, summary="make", at=NOW - 10))
    return story.board


def hostile_asks() -> Board:
    """Return asks in which everything is as bad as it gets."""
    story = Story()
    for number, text in enumerate(HOSTILE, 1):
        ticket, at = f"{number:03}-hard", NOW - 100 + number
        story.add(ticket, text)
        story.start(ticket)
        facts: dict[str, Any] = {"summary": text, "reason": text, "rules": (text,), "agent": text, "at": at}
        asked = {
            "question": text,
            "header": text,
            "options": [{"label": text, "description": text}],
            "multiSelect": True,
        }
        kinds: tuple[tuple[AskKind, str, dict[str, Any]], ...] = (
            (AskKind.PERMISSION, "Bash", {"command": f"{text}\n{text}", text: text}),
            (AskKind.PERMISSION, "Edit", {"file_path": text, "old_string": text, "new_string": f"{text}\n{text} x"}),
            (AskKind.PERMISSION, text, {text: {text: [text, 1, None]}}),
            (AskKind.QUESTION, "AskUserQuestion", {"questions": [asked, asked]}),
            (AskKind.PLAN, "ExitPlanMode", {"plan": f"# {text}\n\n- **{text}**\n\n```\n{text}\n```"}),
        )
        kind, tool, given = kinds[number % len(kinds)]
        ask(story.board, opened(f"ask-{number}", ticket, kind, tool, given, **facts))
    return story.board


ASK_SCENES = {"asking": asking, "stopped": stopped, "hostile-asks": hostile_asks}

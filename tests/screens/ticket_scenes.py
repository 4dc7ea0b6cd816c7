"""What a ticket's screen looks up, told in few words: attempts, changed files with their diffs, prompts and facts."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from supervisor.core import events as ev
from supervisor.core.changes import ChangeKind, Changes, FileChange
from supervisor.core.letters import Letter
from supervisor.core.model import AttemptRecord, Mode, Outcome, PromptKind, PromptRecord
from supervisor.core.spec import TicketSpec
from tests.screens.dialog_scenes import Library
from tests.screens.scenes import HOSTILE, NOW

if TYPE_CHECKING:
    from supervisor.core.board import Board
    from supervisor.core.rewinds import Checkpoint

_TRACE = 'Traceback (most recent call last):\n  File "cli.js", line 1\nError: socket hang up\n    at TLSSocket.onEnd'
SESSION = "5e0c91d2-7a0f-4f0e-9d0f-1f5a0f3f7c11"
ATTEMPTS = (
    AttemptRecord(
        "001-rounding", 1, Mode.FRESH, SESSION, NOW - 4000, model="claude-sonnet-4-5", pid=4121, cap_usd=0.85,
        baseline_usd=0.0, ended=NOW - 3100.0, outcome=Outcome.CRASHED, subtype="error_during_execution",
        terminal_reason="aborted_tools", is_error=True, num_turns=3, cost_usd=0.13, estimated=True,
        errors=("the stream ended before the result",), exit_code=1, stderr_tail=_TRACE,
        detail="the agent exited with 1",
    ),
    AttemptRecord(
        "001-rounding", 2, Mode.RESUME, SESSION, NOW - 240, resumed_from=SESSION, model="claude-sonnet-4-5",
        pid=5200, cap_usd=0.7, baseline_usd=0.13, num_turns=4, cost_usd=0.08, subtype="success",
        terminal_reason="completed",
    ),
)  # fmt: skip
FILES = (
    FileChange("docs/discounts.png", ChangeKind.ADDED, None, None),
    FileChange("tinyshop/pricing.py", ChangeKind.MODIFIED, 4, 2),
    FileChange("tinyshop/receipt.py", ChangeKind.RENAMED, 1, 1, "tinyshop/bill.py"),
    FileChange("tinyshop/rounding_rules_of_last_year.py", ChangeKind.DELETED, 0, 2),
)
DIFFS = {
    "docs/discounts.png": "diff --git a/docs/discounts.png b/docs/discounts.png\nnew file mode 100644\n"
    "index 0000000..55dd1f2\nBinary files /dev/null and b/docs/discounts.png differ\n",
    "tinyshop/pricing.py": "diff --git a/tinyshop/pricing.py b/tinyshop/pricing.py\nindex 1..2 100644\n"
    "--- a/tinyshop/pricing.py\n+++ b/tinyshop/pricing.py\n"
    "@@ -1,4 +1,5 @@\n from decimal import Decimal\n+from tinyshop import money\n \n \n def to_cents(amount):\n"
    "@@ -13,5 +14,6 @@ def discounted(prices, percent):\n     factor = 1 - percent / 100\n"
    "-    return sum((to_cents(price * factor) for price in prices), Decimal(0))\n"
    "-    # rounds each price\n"
    "+    # rounds once, at the end, as the tax office wants it: see the note in docs/discounts.png\n"
    "+    total = sum(prices, Decimal(0)) * factor\n"
    "+    return money.total(total)\n \n \n def taxed(price):\n",
    "tinyshop/receipt.py": "diff --git a/tinyshop/bill.py b/tinyshop/receipt.py\nsimilarity index 96%\n"
    "rename from tinyshop/bill.py\nrename to tinyshop/receipt.py\n--- a/tinyshop/bill.py\n+++ b/tinyshop/receipt.py\n"
    "@@ -3,3 +3,3 @@\n def total(prices):\n-    return round(sum(prices))\n+    return money.total(sum(prices))\n \n",
    "tinyshop/rounding_rules_of_last_year.py": "diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n"
    "@@ -1,2 +0,0 @@\n-RULES = {}\n-HALF_UP = True\n",
}
PROMPTS = (
    PromptRecord("u1", "001-rounding", 1, PromptKind.TASK, "Discounts round\nthe wrong way", NOW - 3990, True, "s1"),
    PromptRecord("u2", "001-rounding", 2, PromptKind.CONTINUE, "Go on where you left off.", NOW - 235, False, "s2"),
)
SPEC = TicketSpec(
    "001-rounding",
    "Discounts round the wrong way",
    "Discounts round the wrong way.\n\nFix pricing.py and its tests, and say what you changed. Leave the interface of "
    "the module as it is: the receipts and the cart use it.\n\n- round once, at the end\n- half to even",
    after=("000-setup",),
    permission_mode="acceptEdits",
    allowed_tools=("Edit", "Bash(pytest:*)"),
    rules="Speak English. Commit nothing.",
    max_turns=40,
    budget_usd=1.0,
    setup=("uv", "sync"),
    verify=("pytest", "-q"),
    effects=("comment", "deploy"),
)
LOGS = ("/work/shop/.supervisor/logs/001-rounding/verify.log", f"/home/op/.claude/projects/shop/{SESSION}.jsonl")


@dataclass
class Shelf(Library):
    """Answers what a ticket's screen looks up, of any ticket."""

    tries: tuple[AttemptRecord, ...] = ATTEMPTS
    files: tuple[FileChange, ...] = FILES
    diffs: dict[str, str] = field(default_factory=lambda: dict(DIFFS))
    spec_found: TicketSpec | None = SPEC
    written: list[Letter] = field(default_factory=list)
    """Messages that the agent has not been given."""
    reads: list[str] = field(default_factory=list)
    """What was read, in order."""

    async def attempts(self, ticket: str) -> tuple[AttemptRecord, ...]:
        """Return the attempts."""
        self.reads.append("attempts")
        await self._wait()
        return self.tries

    async def prompts(self, _: str) -> tuple[PromptRecord, ...]:
        """Return the prompts."""
        await self._wait()
        return PROMPTS

    async def messages(self, _: str) -> tuple[Letter, ...]:
        """Return what waits to be given to the agent."""
        self.reads.append("messages")
        await self._wait()
        return tuple(self.written)

    async def spec(self, _: str) -> TicketSpec | None:
        """Return what the ticket is."""
        await self._wait()
        return self.spec_found

    async def logs(self, _: str) -> tuple[str, ...]:
        """Return some paths."""
        return LOGS

    async def changes(self, ticket: str, since: str = "base") -> Changes:
        """Return the changed files; only the last of them since a prompt."""
        self.reads.append(f"changes {since}")
        await self._wait()
        return Changes(self.files if since == "base" else self.files[-1:])

    async def diff(self, ticket: str, path: str | None = None, since: str = "base", old_path: str | None = None) -> str:
        """Return the diff of a file."""
        self.reads.append(f"diff {path}")
        await self._wait()
        return self.diffs.get(path or "", "")


@dataclass
class Forks(Shelf):
    """Answers as `Shelf`, with less and other changes for forks."""

    async def changes(self, ticket: str, since: str = "base") -> Changes:
        """Return the changed files of a ticket or of its fork."""
        found = await Shelf.changes(self, ticket, since)
        return Changes(found.files[1:2]) if "." in ticket else found

    async def diff(self, ticket: str, path: str | None = None, since: str = "base", old_path: str | None = None) -> str:
        """Return the diff of a file."""
        text = await Shelf.diff(self, ticket, path, since, old_path)
        return text.replace("rounds once, at the end", "half to even") if "." in ticket else text


def hostile_shelf() -> Shelf:
    """Return answers in which everything that is not ours is as bad as it gets."""
    bad = "\n".join(HOSTILE)
    tries = [
        replace(ATTEMPTS[0], number=number, detail=text, errors=(text, text), stderr_tail=bad, subtype=text, model=text)
        for number, text in enumerate(HOSTILE, 1)
    ]
    files = [FileChange(f"{number}/{text}", ChangeKind.MODIFIED, 1, 1) for number, text in enumerate(HOSTILE, 1)]
    lines = "".join(f"-{text}\n+{text}\n" for text in HOSTILE)
    diffs = {change.path: f"@@ -1,99 +1,99 @@ {bad[:50]}\n{lines}" for change in files}
    points: tuple[Checkpoint, ...] = Library().points
    spec = replace(SPEC, prompt=bad, rules=bad, allowed_tools=HOSTILE, verify=HOSTILE)
    return Shelf(
        points=tuple(replace(p, words=HOSTILE[n]) for n, p in enumerate(points)),
        tries=tuple(tries), files=tuple(files), diffs=diffs, spec_found=spec,
    )  # fmt: skip


def write(board: Board, shelf: Shelf, text: str, ticket: str = "001-rounding", at: float = NOW - 5) -> Letter:
    """Write a message to a ticket; it waits until it is `given`."""
    letter = Letter(f"m{at}-{text}", ticket, "message", at, {"text": text, "now": False}, "operator")
    shelf.written.append(letter)
    board.apply(ev.LetterPosted(ticket, at, letter.id, letter.verb, letter.args, letter.actor, wakes=True))
    return letter


def given(board: Board, shelf: Shelf, letter: Letter) -> None:
    """Let the agent be given a message."""
    shelf.written.remove(letter)
    text = letter.args["text"]
    board.apply(ev.PromptStored(letter.ticket, NOW, 1, letter.id, PromptKind.MESSAGE, text, letters=(letter.id,)))


def never() -> asyncio.Event:
    """Return a gate that stays shut, so that everything is still being read."""
    return asyncio.Event()

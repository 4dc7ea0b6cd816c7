"""What an agent's side suggests to allow for longer than one call, as rules in its own spelling.

Seen with CLI 2.1.332: a command comes with rules to add (aimed at a settings file of the worktree, which we never
write), an edit only with a change of the whole session's permission mode. That would allow more than was asked about,
so it becomes a rule for edits of the same files instead. Knows the SDK's types by their fields only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from supervisor.engine.untrusted import listed

EDITS = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit"})
_MOST = 10
_TOOL = re.compile(r"[A-Za-z][\w-]{0,199}")
_CONTENT = re.compile(r"[^()\\\x00-\x1f\x7f-\x9f]{1,300}")
"""Rules are told to the CLI again as text when it is started again: nothing that could end one early."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: a tool, and which of its calls; None means all of them."""

    tool: str
    content: str | None = None

    def __str__(self) -> str:
        """Return it as the CLI spells it."""
        return self.tool if self.content is None else f"{self.tool}({self.content})"

    @property
    def is_plain(self) -> bool:
        """Whether its spelling can be read in one way only."""
        fits = self.content is None or _CONTENT.fullmatch(self.content) is not None
        return fits and _TOOL.fullmatch(self.tool) is not None


def suggested(tool: str, suggestions: object) -> tuple[Rule, ...]:
    """Return the rules that would allow the like of a call; none where not all of them can be spelled out."""
    updates = listed(suggestions, _MOST)
    rules = [rule for update in updates if _is(update, type="addRules", behavior="allow") for rule in _rules(update)]
    if not rules and tool in EDITS and any(_is(u, type="setMode", mode="acceptEdits") for u in updates):
        added = (u for u in updates if _is(u, type="addDirectories"))
        places = [place for u in added for place in listed(getattr(u, "directories", ()), _MOST)]
        rules = [Rule("Edit", f"/{str(place).rstrip('/')}/**") for place in places] or [Rule("Edit", "./**")]
    plain = len(rules) <= _MOST and all(rule.is_plain for rule in rules)
    return tuple(dict.fromkeys(rules)) if plain else ()


def _is(update: object, **fields: str) -> bool:
    return all(getattr(update, name, None) == value for name, value in fields.items())


def _rules(update: object) -> list[Rule]:
    values = listed(getattr(update, "rules", ()), _MOST + 1)
    return [Rule(str(getattr(v, "tool_name", "")), _text(getattr(v, "rule_content", None))) for v in values]


def _text(content: object) -> str | None:
    return None if content is None else str(content)

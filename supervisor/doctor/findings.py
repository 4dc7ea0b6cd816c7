"""What was found, as data and in words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from supervisor.core.text import safe_line

if TYPE_CHECKING:
    from collections.abc import Iterable


class Level(StrEnum):
    """How much a finding matters. The value is the word the operator reads."""

    OK = "ok"
    WARN = "warn"
    """It works, and the operator should know."""
    FAULT = "fault"
    """It does not work, or not safely."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report."""

    name: str
    """What was looked at; the same in every version."""
    level: Level
    says: str
    """What was found; may hold untrusted text."""
    remedy: str = ""
    """What to do about it; empty where there is nothing to do."""


def ok(name: str, says: str) -> Finding:
    """A thing that is as it should be."""
    return Finding(name, Level.OK, says)


def warn(name: str, says: str, remedy: str) -> Finding:
    """A thing that the operator should know."""
    return Finding(name, Level.WARN, says, remedy)


def fault(name: str, says: str, remedy: str) -> Finding:
    """A thing that is wrong."""
    return Finding(name, Level.FAULT, says, remedy)


def text(findings: Iterable[Finding]) -> str:
    """Return the report, a line for each finding."""
    found = list(findings)
    width = max(len(f.name) for f in found)
    return "\n".join(
        f"{f.level.value:<5}  {f.name:<{width}}  {safe_line(f.says)}{f': {safe_line(f.remedy)}' if f.remedy else ''}"
        for f in found
    )


def as_data(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """Return the report as plain data."""
    return [{"name": f.name, "level": f.level.value, "says": f.says, "remedy": f.remedy} for f in findings]


def listed(names: Iterable[str], most: int = 5) -> str:
    """Return names in one line, the first few of many."""
    all_names = list(names)
    more = f" and {len(all_names) - most} more" if len(all_names) > most else ""
    return ", ".join(all_names[:most]) + more

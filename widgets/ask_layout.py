"""The lines of an ask's card: what is asked, whole, and what each answer would lead to. Pure.

Nothing of it is left out: who allows something has to be able to read all of it. What is long stands below what is
short, so that no fact is scrolled away by it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from supervisor.core.asks import AskKind, says
from supervisor.core.diffs import BULKY, of_input
from widgets.ask_questions import question_lines
from widgets.ask_words import outcome, standing, what
from widgets.card_lines import WHOLE, flowed, labelled, one, plain, room
from widgets.cells import Cell, Piece, Tone, drawable_lines
from widgets.effect_words import all_fields, stamp
from widgets.transcript_diff import counts, diff_rows
from widgets.transcript_markdown import render
from widgets.transcript_wrap import flow, spans

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from supervisor.core.asks import Ask
    from supervisor.core.diffs import Diff
    from widgets.ask_draft import Draft
    from widgets.card_lines import Part

_SHORT_ROWS = 8
"""A text of more rows than this stands below the facts."""
_CUT = re.compile(r"\n… (\d+) more characters\Z")
"""How a text ends of which only the beginning was kept."""
_FIRST: Piece = ("│ ", Tone.FAINT)
_AGAIN: Piece = ("┊ ", Tone.FAINT)
"""Before a line that is shown to the letter, and before what did not fit into the row above."""
_PATHS = ("file_path", "notebook_path")


def ask_lines(ask: Ask, now: float, width: int, draft: Draft | None = None) -> list[Cell]:
    """Return the card of an ask, none of its lines wider than ``width``."""
    lines = [] if ask.waits else [(outcome(ask),), ()]
    if ask.kind is AskKind.QUESTION:
        facts = labelled(_asked(ask, now, room(width)), width)
        return [*lines, *question_lines(ask, draft, width), *([(), *facts] if facts else [])]
    return lines + (_plan(ask, now, width) if ask.kind is AskKind.PLAN else _permission(ask, now, width))


def rule_words(ask: Ask, now: float) -> tuple[str, list[str]]:
    """Return what the line above the card says first, and the rest of it."""
    return what(ask), [ask.ticket, f"since {stamp(ask.at, now)}", standing(ask)]


# Permissions


def _permission(ask: Ask, now: float, width: int) -> list[Cell]:
    given, cells = dict(ask.input), room(width)
    diff = of_input(ask.tool, given, most_chars=WHOLE, line_chars=WHOLE)
    if diff is not None:
        parts = [("file", _file(given, diff, cells)), *_facts(ask, now, cells, _but_edits(given))]
        return [*labelled(parts, width), (), *diff_rows(diff, width, WHOLE)]
    command = given.pop("command", None)
    if not isinstance(command, str):
        return labelled(
            [("input", flowed(list(all_fields(dict(ask.input))), cells, whole=True)), *_facts(ask, now, cells)], width
        )
    shown: Part = ("command", verbatim(command, cells))
    facts = _facts(ask, now, cells, given)
    return labelled([*facts, shown] if len(shown[1]) > _SHORT_ROWS else [shown, *facts], width)


def verbatim(text: str, cells: int) -> list[Cell]:
    """Return untrusted text to the letter; a bar before each row tells a line of it from the rest of a long one."""
    rows: list[Cell] = []
    for line in drawable_lines(text, WHOLE):
        lead = _FIRST
        for start, end in spans(line, max(2, cells - 2)):
            rows.append((lead, (line[start:end], Tone.CODE)))
            lead = _AGAIN
    return rows


def _file(given: Mapping[str, Any], diff: Diff, cells: int) -> list[Cell]:
    path = next((given[name] for name in _PATHS if isinstance(given.get(name), str)), "")
    rows = plain(path, cells, WHOLE)
    return [*rows[:-1], (*rows[-1], ("  ", Tone.PLAIN), *counts(diff))]


def _but_edits(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return of an edit's input what its diff does not say."""
    rest = {name: value for name, value in given.items() if name not in BULKY and name not in _PATHS}
    edits = given.get("edits")
    for place, edit in enumerate(edits if isinstance(edits, list) else ()):
        more = {n: v for n, v in edit.items() if n not in BULKY} if isinstance(edit, dict) else edit
        if more:
            rest[f"edit {place + 1}"] = more
    return {name: value for name, value in rest.items() if value is not False}


def _facts(ask: Ask, now: float, cells: int, rest: Mapping[str, Any] | None = None) -> list[Part]:
    """Return everything else that is known of a permission: what of its input is left, and what each answer does."""
    return [
        ("", _warning(ask, cells)),
        ("also", flowed(list(all_fields(dict(rest))), cells, whole=True) if rest else []),
        ("why it asks", plain(ask.reason, cells, WHOLE) if ask.reason else []),
        ("2 would allow", _rules(ask, cells)),
        *_asked(ask, now, cells),
    ]


def _rules(ask: Ask, cells: int) -> list[Cell]:
    if not ask.rules:
        return []
    rows = [row for rule in ask.rules for row in verbatim(rule, cells)]
    return [*rows, (("until its session ends", Tone.MUTED),)]


def _warning(ask: Ask, cells: int) -> list[Cell]:
    if not _is_cut(ask):
        return []
    words = "It is too long to be kept: what you see ends before the agent's input does."
    return [(piece,) for ((text, _),) in plain(words, cells, WHOLE) for piece in ((text, Tone.WARM),)]


def _is_cut(ask: Ask) -> bool:
    return any(_CUT.search(text) for _, text in all_fields(dict(ask.input)))


def _asked(ask: Ask, now: float, cells: int) -> list[Part]:
    by = f"the subagent {ask.agent}" if ask.agent else ""
    return [("asked by", one(by)), ("answered", _answered(ask, now, cells))]


def _answered(ask: Ask, now: float, cells: int) -> list[Cell]:
    if ask.answered_at is None:
        return []
    return plain(f"{stamp(ask.answered_at, now)} by {ask.actor}: {says(ask)}", cells, 12)


# Plans


def _plan(ask: Ask, now: float, width: int) -> list[Cell]:
    given, cells = dict(ask.input), room(width)
    plan, path = given.pop("plan", None), given.pop("planFilePath", None)
    parts: list[Part] = [
        ("", _warning(ask, cells)),
        ("written to", plain(path, cells, 4) if isinstance(path, str) else []),
        ("also", flowed(list(all_fields(given)), cells, whole=True) if given else []),
        ("2 also accepts", one("its edits, without asking, until its session ends") if ask.waits else []),
        *_asked(ask, now, cells),
    ]
    if not isinstance(plan, str) or not plan.strip():
        words = "The agent put no plan into its request: what it said before may hold it (t goes there)."
        return labelled([*parts, ("plan", plain(words, cells, 4, Tone.MUTED))], width)
    return [*labelled(parts, width), (), *_markdown(plan, width)]


def _markdown(text: str, width: int) -> Iterator[Cell]:
    for line in render(drawable_lines(text, WHOLE), width):
        yield from flow(line, width)

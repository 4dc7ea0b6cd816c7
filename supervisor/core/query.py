"""The language of the filter: a text becomes a test of tickets, or the words for what is wrong with it. Pure.

A filter is a row of terms, and a ticket has to pass them all. A plain word is looked for in id, title, detail and
branch; ``field:value`` asks one field (`FIELDS` lists them); ``!`` turns a term round. Names and states may be cut
short as long as they stay clear, several values are separated by commas, and quotes keep blanks and colons as they are.
Upper and lower case are the same, and so are ``needs_you``, ``needs-you`` and ``"needs you"``.

``needs:you`` asks what no snapshot tells by itself; ``core.waiting`` says which tickets those are.
"""

from __future__ import annotations

import math
import operator
import re
import unicodedata
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from supervisor.core.model import State

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator

    from supervisor.core.model import TicketSnapshot

    Needs = Container[str]
    """Ids of the tickets that need the operator."""
    Test = Callable[[TicketSnapshot, Needs], bool]
    Texts = Callable[[TicketSnapshot], tuple[str | None, ...]]
    Figure = Callable[[TicketSnapshot], float | None]

TEXT_CHARS = 1_000
"""A word is looked for in so many characters of a title or a detail; no screen shows more."""

_TERM = re.compile(r'(?P<not>!?)(?:(?P<field>[^\s":]+):)?(?P<value>(?:"[^"]*"?|[^\s"])*)')
_FIGURE = re.compile(r"(?P<sign>[<>]=?|=?)\$?(?P<number>-?(?:[0-9]{1,12}(?:\.[0-9]{0,12})?|\.[0-9]{1,12}))")
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, slots=True)
class Unclear:
    """A text that is no filter."""

    message: str
    """What is wrong, in a few words, the most important first. Quotes what was typed: not yet safe to draw."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which tickets to show. Equal to every filter with the same text."""

    text: str = ""
    """As typed, without blanks around it."""
    tests: tuple[Test, ...] = field(default=(), compare=False, repr=False)

    def __bool__(self) -> bool:
        """Return whether it can leave anything out."""
        return bool(self.tests)

    def matches(self, ticket: TicketSnapshot, needs: Needs) -> bool:
        """Return whether a ticket passes every term.

        Args:
            ticket: The ticket as it is now.
            needs: Ids of the tickets that need the operator, as ``core.waiting`` has them.
        """
        return all(test(ticket, needs) for test in self.tests)


EVERYTHING = Filter()


@dataclass(frozen=True, slots=True)
class Field:
    """Something a term can ask about."""

    name: str
    example: str
    help: str
    """One sentence for the help screen."""
    read: Callable[[Field, str], Test | Unclear]
    """Makes a test of the value that was typed."""


def parse(text: str) -> Filter | Unclear:
    """Return the filter that a text means, or what is wrong with it.

    A term of which only the ``!`` was typed so far means nothing yet; it is no fault.
    """
    tests: list[Test] = []
    for term in _TERM.finditer(text):
        test = _test(term["field"], term["value"])
        if isinstance(test, Unclear):
            return test
        if test is not None:
            tests.append(_opposite(test) if term["not"] else test)
    return Filter(text.strip(), tuple(tests))


def _test(name: str | None, value: str) -> Test | Unclear | None:
    words = value.replace('"', "")
    if name is None:
        return _in_texts(_plain, (words,)) if words.strip() else None
    match _begun(_folded(name), _BY_NAME):
        case [found]:
            return _BY_NAME[found].read(_BY_NAME[found], words)
        case []:
            return Unclear(f'no field "{name}": put "{name}:{words}" in quotes to find it as it stands')
        case several:
            return _either("field", name, several)


def _opposite(test: Test) -> Test:
    return lambda ticket, needs: not test(ticket, needs)


def _begun(typed: str, names: Iterable[str]) -> list[str]:
    """Return the names that begin as typed; only the one that was typed in full."""
    found = [name for name in names if name.startswith(typed)]
    return [typed] if typed in found else found


def _either(what: str, typed: str, names: list[str]) -> Unclear:
    return Unclear(f'{what} "{typed}" can be {" or ".join(names)}')


def _folded(text: str) -> str:
    """Return a text as it is compared: without case, and composed characters in one of their spellings."""
    return text.casefold() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()


def _values(value: str) -> Iterator[str]:
    return (part.strip() for part in _folded(value).split(",") if part.strip())


# Words


def _in_texts(texts: Texts, wanted: Iterable[str]) -> Test:
    needles = tuple(map(_folded, wanted))

    def test(ticket: TicketSnapshot, _: Needs) -> bool:
        hay = _folded("\n".join([text[:TEXT_CHARS] for text in texts(ticket) if text]))
        return any(needle in hay for needle in needles)

    return test


def _plain(ticket: TicketSnapshot) -> tuple[str | None, ...]:
    return (ticket.id, ticket.title, ticket.detail, ticket.branch)


def _words(texts: Texts) -> Callable[[Field, str], Test | Unclear]:
    def read(asked: Field, value: str) -> Test | Unclear:
        wanted = tuple(_values(value))
        return _in_texts(texts, wanted) if wanted else Unclear(f"{asked.name}: which? such as {asked.example}")

    return read


# States


def _states(asked: Field, value: str) -> Test | Unclear:
    names = [state.value for state in State]
    parts = list(_values(value))
    wanted: set[str] = set()
    for part in parts:
        match _begun(re.sub(r"[\s-]", "_", part), names):
            case [found]:
                wanted.add(found)
            case []:
                return Unclear(f'no state "{part}": {", ".join(names)}')
            case several:
                return _either("state", part, several)
    return (lambda ticket, _: ticket.state in wanted) if wanted else Unclear(f"{asked.name}: {', '.join(names)}")


def _needs(asked: Field, value: str) -> Test | Unclear:
    if not value or not "you".startswith(_folded(value)):
        return Unclear(f"{asked.name}: only {asked.example}")
    return lambda ticket, needs: ticket.id in needs


# Figures


def _figures(figure: Figure, unknown: float) -> Callable[[Field, str], Test | Unclear]:
    """Return the way to read a comparison; ``unknown`` stands for a figure that a ticket does not have."""

    def read(asked: Field, value: str) -> Test | Unclear:
        found = _FIGURE.fullmatch(value.strip())
        if found is None:
            return Unclear(f"{asked.name} takes a number, such as {asked.example}")
        number, compare = float(found["number"]), _COMPARE.get(found["sign"], _same)

        def test(ticket: TicketSnapshot, _: Needs) -> bool:
            known = figure(ticket)
            # Sums of cents are off in the sixteenth digit, which no operator means.
            return compare(unknown if known is None else round(known, 6), number)

        return test

    return read


def _same(figure: float, number: float) -> bool:
    return math.isclose(figure, number, abs_tol=0.005)


FIELDS: tuple[Field, ...] = (
    Field("state", "state:running", "In this state; the beginning of the word is enough: state:run,park", _states),
    Field("needs", "needs:you", "What needs you, as ! lists it: failed and blocked tickets too.", _needs),
    Field(
        "reason",
        "reason:budget",
        "The terminal reason, or why it needs you.",
        _words(lambda t: (t.terminal_reason, t.why)),
    ),
    Field("subtype", "subtype:error", "How the last turn ended, as the SDK says it.", _words(lambda t: (t.subtype,))),
    Field("model", "model:sonnet", "The model of the last attempt.", _words(lambda t: (t.model,))),
    Field("cost", "cost:>0.5", "What it has cost, in dollars.", _figures(lambda t: t.so_far_usd, 0.0)),
    Field(
        "headroom",
        "headroom:<0.2",
        "What it may still spend; without a budget that is more than any number.",
        _figures(lambda t: t.left_usd, math.inf),
    ),
    Field("try", "try:>1", "How many attempts it had.", _figures(lambda t: t.attempts, 0.0)),
    Field("turns", "turns:>=10", "How many turns it took.", _figures(lambda t: t.turns, 0.0)),
)
"""In the order of the help screen."""
_BY_NAME = {field.name: field for field in FIELDS}

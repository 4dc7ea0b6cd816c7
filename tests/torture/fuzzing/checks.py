"""What must hold of every input: nothing is raised that nobody handles, in time, in memory, and as the types say."""

from __future__ import annotations

import dataclasses
import gc
import signal
import traceback
import tracemalloc
import types
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from functools import cache
from time import process_time
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from supervisor.core.model import Outcome

T = TypeVar("T")
SHRINK_TRIES = 3_000
SHOWN = 1_500
"""Most characters of a reproducer that are printed."""


class BrokenPromiseError(AssertionError):
    """What came out is not what its makers promise."""


class TooSlowError(BaseException):
    """Raised into whatever is still running when its time is up; not an Exception, so that nobody swallows it."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TooSlowError once the body has had so much processor time; a busy machine does not count."""

    def stop(*_: object) -> None:
        raise TooSlowError(f"still running after {seconds:g} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@dataclasses.dataclass(slots=True)
class Tally:
    """What came of one kind of input."""

    name: str
    seconds_each: float
    """Most processor time that one input may take."""
    done: int = 0
    outcomes: Counter[str] = dataclasses.field(default_factory=Counter)
    faults: Counter[str] = dataclasses.field(default_factory=Counter)
    """How often each fault was met: what was raised, and where."""
    first: tuple[int, str, str] | None = None
    """Number, traceback and reproducer of the first fault."""
    slowest_s: float = 0.0
    slowest_at: int = 0
    memory: str = ""
    started_s: float = dataclasses.field(default_factory=process_time)

    def check(
        self, number: int, work: Callable[[], str], shrunk: Callable[[Callable[[BaseException], bool]], str]
    ) -> None:
        """Run one input and count its outcome; of the first fault keep the smallest input that still causes it."""
        self.done += 1
        began = process_time()
        try:
            with time_limit(self.seconds_each):
                self.outcomes[work()] += 1
        except (Exception, TooSlowError) as error:
            fault = signature(error)
            self.faults[fault] += 1
            if self.first is None:
                story = "".join(traceback.format_exception(error)[-12:])
                self.first = (number, story, shrunk(lambda other: signature(other) == fault))
        took = process_time() - began
        if took > self.slowest_s:
            self.slowest_s, self.slowest_at = took, number

    def fault(self, what: str) -> None:
        """Note a fault that no single input causes."""
        self.faults[what] += 1
        self.first = self.first or (self.done, what, "no single input")

    def report(self) -> str:
        """Return the figures, and the first fault if there was one."""
        seconds = process_time() - self.started_s
        rate = self.done / seconds if seconds else 0.0
        lines = [
            f"{self.name:12} {self.done:8,} in {seconds:6.1f} s of processor time, {rate:8,.0f} a second, "
            f"slowest {self.slowest_s * 1000:.0f} ms (number {self.slowest_at}), {len(self.faults)} kinds of fault",
            "  " + ", ".join(f"{count:,} {outcome}" for outcome, count in self.outcomes.most_common(12)),
        ]
        if self.memory:
            lines.append(f"  memory held on the way: {self.memory}")
        lines += [f"  FAULT {count:,} times: {what}" for what, count in self.faults.most_common(30)]
        if self.first is not None:
            number, story, reproducer = self.first
            cut = f"… and {len(reproducer) - SHOWN:,} more characters" if len(reproducer) > SHOWN else ""
            lines += [f"  the first, number {number}:", story.rstrip(), f"  caused by: {reproducer[:SHOWN]}{cut}"]
        return "\n".join(lines)


def signature(error: BaseException) -> str:
    """Return what was raised, and the innermost line of ours that it came through."""
    places = ((frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__))
    ours = [(name.rsplit("/supervisor/", 1)[1], line) for name, line in places if "/supervisor/" in name]
    place = " in {}:{}".format(*ours[-1]) if ours else ""
    words = str(error).split("\n", 1)[0][:120] if isinstance(error, BrokenPromiseError | TooSlowError) else ""
    return f"{type(error).__name__}{place} {words}".rstrip()


def shrink(value: T, smaller: Callable[[T], Iterable[T]], still: Callable[[T], bool]) -> T:
    """Return a smaller value for which ``still`` holds, by trying what ``smaller`` proposes until nothing helps."""
    tries = 0
    while True:
        for candidate in smaller(value):
            tries += 1
            if tries > SHRINK_TRIES:
                return value
            if still(candidate):
                value = candidate
                break
        else:
            return value


def smaller_bytes(data: bytes) -> Iterator[bytes]:
    """Propose the data with a piece left out, large pieces first."""
    size = len(data) // 2
    while size:
        for at in range(0, len(data), size):
            yield data[:at] + data[at + size :]
        size //= 2


def smaller_json(value: Any) -> Iterator[Any]:
    """Propose a value with a part left out, or a text in it cut in half; large parts first."""
    if isinstance(value, dict):
        for key in value:
            yield {k: v for k, v in value.items() if k != key}
        for key, inner in value.items():
            yield from ({**value, key: less} for less in smaller_json(inner))
    elif isinstance(value, list):
        half = max(1, len(value) // 2)
        for at in range(0, len(value), half):
            yield [*value[:at], *value[at + half :]]
        for index, inner in enumerate(value[:20]):
            yield inner
            yield from ([*value[:index], less, *value[index + 1 :]] for less in smaller_json(inner))
    elif isinstance(value, str) and len(value) > 1:
        yield value[: len(value) // 2]
        yield value[len(value) // 2 :]


def conforms(record: Any) -> None:
    """Raise BrokenPromiseError unless every field of a dataclass holds what its type says."""
    for name, hint in _hints(type(record)).items():  # type: ignore[arg-type]  # a class is hashable
        value = getattr(record, name)
        if not _fits(value, hint):
            raise BrokenPromiseError(f"{type(record).__name__}.{name} holds {type(value).__name__}: {value!r:.60}")


@cache
def _hints(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind, localns={"Outcome": Outcome})  # which one module imports for its types alone
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def _fits(value: Any, hint: Any) -> bool:
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, types.UnionType):
        return any(_fits(value, one) for one in inner)
    if origin is Literal:
        return value in inner
    if origin is tuple:
        wanted = inner[:1] * len(value) if isinstance(value, tuple) and inner[-1] is ... else inner
        return isinstance(value, tuple) and len(value) == len(wanted) and all(map(_fits, value, wanted))
    if origin is not None and issubclass(origin, Mapping):
        pairs = value.items() if isinstance(value, Mapping) else [(None, None)]
        return all(_fits(key, inner[0]) and _fits(item, inner[1]) for key, item in pairs)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63
    if hint is str:
        return isinstance(value, str) and _is_storable(value)
    if dataclasses.is_dataclass(type(value)):
        conforms(value)
    return value is None if hint in (None, type(None)) else isinstance(value, hint)


def _is_storable(text: str) -> bool:
    if isinstance(text, Enum) or text.isascii():
        return "\0" not in text
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text


class MemoryWatch:
    """Looks at Python's memory nine times on the way; what grows without end grows from a third of it on, all along."""

    def __init__(self, total: int, margin_bytes: int, least: int = 0) -> None:
        """Watch over ``total`` inputs. Fewer than ``least`` show nothing, and watching takes as long again."""
        self._on = total >= least
        self._every = max(1, total // 9)
        self._margin = margin_bytes
        self._sizes: list[int] = []
        if self._on:
            tracemalloc.start()

    def look(self, done: int) -> None:
        """Take a reading if it is time."""
        if self._on and done % self._every == 0:
            gc.collect()
            self._sizes.append(tracemalloc.get_traced_memory()[0])

    def stop(self, tally: Tally) -> None:
        """Stop, and note a fault if memory grew."""
        if not self._on:
            return
        tracemalloc.stop()
        early, middle, late = (min(self._sizes[part], default=0) for part in (slice(2, 4), slice(4, 7), slice(7, None)))
        grown = 2 * min(middle - early, late - middle)  # a table that doubles once is one step, a large input one peak
        tally.memory = ", ".join(f"{size // 1000:,}" for size in self._sizes) + " kB"
        if grown > self._margin:
            tally.fault(f"memory grows by {grown:,} bytes: {tally.memory}")

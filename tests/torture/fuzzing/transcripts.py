"""Spoiled files of a session, and spoiled messages of a call, through what reads them after the fact."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import claude_agent_sdk
from claude_agent_sdk._internal.message_parser import parse_message

from supervisor.core.past import Stretch
from supervisor.core.sessions import ending_of, summarise
from supervisor.core.usage import Prices, lost_spend
from supervisor.engine import conversations, transcripts
from supervisor.engine.history import load_history
from tests.torture.fuzzing import shapes
from tests.torture.fuzzing.checks import BrokenPromiseError, MemoryWatch, Tally, conforms, shrink, smaller_bytes
from tests.torture.fuzzing.scramble import Scrambler

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SECONDS_EACH = 4.0
MARGIN_BYTES = 300_000
_COPY = "0f0f0f0f-0000-4000-8000-000000000000"
_BEGAN = 1_700_000_000.0


def read(config_dir: Path, data: bytes) -> str:
    """Write a session's file and look up in it what a restart does; return what was found."""
    folder = config_dir / "projects" / "-ticket-work"
    nested = folder / shapes.SESSION / "subagents"
    nested.mkdir(parents=True, exist_ok=True)
    for path in (folder / f"{shapes.SESSION}.jsonl", nested / "agent-1.jsonl"):
        path.write_bytes(data)
    found = transcripts.find(config_dir, shapes.SESSION)
    if found is None:
        raise BrokenPromiseError("the file is not found")
    facts = transcripts.read(found, "line-0", _BEGAN)
    conforms(facts)
    for entry in load_history(config_dir, [Stretch(shapes.SESSION)]):
        conforms(entry)
    _cut(found)
    if not 0 <= lost_spend(facts.usage, Prices(), None) < float("inf"):
        raise BrokenPromiseError("the lost spend is no amount")
    return f"{'with' if facts.has_prompt else 'without'} prompt, {'no' if facts.usage.empty else 'some'} usage"


def _cut(path: Path) -> None:
    """Copy a session up to its last sound point, and see that the copy goes as far."""
    conversation = conversations.read(path)
    for cut in conversation.cuts:
        conforms(cut)
    if conversation.cuts:
        last = conversation.cuts[-1]
        conversations.copy(path, conversation, last, _COPY)
        copied = conversations.read(path.with_name(f"{_COPY}.jsonl"))
        if last.uuid not in copied:
            raise BrokenPromiseError("the copy does not hold its last message")


def sum_up(lines: list[dict[str, Any]], *, resumed: bool) -> str:
    """Say what a call came to that yielded what the SDK makes of these lines; return the outcome."""
    messages = [message for message in map(_parsed, lines) if message is not None]
    failure = claude_agent_sdk.ResultError("no", lines[-1], exit_code=1) if resumed else None
    summary = summarise(messages, 0.25, 1.5, resumed=resumed)
    conforms(summary)
    conforms(ending_of(messages, resumed=resumed, failure=failure))
    return f"summed up as {summary.outcome}"


def _parsed(line: dict[str, Any]) -> object:
    try:
        return parse_message(line)
    except Exception:  # the caller was never given it
        return None


def run(folder: Path, seed: int, first: int, total: int) -> Tally:
    """Read ``total`` spoiled files and sum up as many calls, from number ``first`` on."""
    tally, sessions, stream = Tally("transcripts", SECONDS_EACH), shapes.sessions(), shapes.stream()
    watch = MemoryWatch(total, MARGIN_BYTES, least=2_000)
    for number in range(first, first + total):
        rng = random.Random(f"transcripts {seed} {number}")
        data = _file(rng, rng.choice(sessions))
        tally.check(
            number,
            lambda data=data: read(folder, data),  # type: ignore[misc]
            lambda still, data=data: _smallest(lambda smaller: read(folder, smaller), data, still),  # type: ignore[misc]
        )
        calls = [Scrambler(rng).message(rng.choice(stream)) for _ in range(rng.randrange(1, 6))]
        resumed = rng.random() < 0.5
        tally.check(
            number,
            lambda calls=calls, resumed=resumed: sum_up(calls, resumed=resumed),  # type: ignore[misc]
            lambda _, calls=calls: "\n".join(map(shapes.as_line, calls)),  # type: ignore[misc]
        )
        watch.look(number - first + 1)
    watch.stop(tally)
    return tally


def _file(rng: random.Random, good: list[dict[str, Any]]) -> bytes:
    """Return a session's file with a few lines spoiled, left out, given twice or moved."""
    scrambler = Scrambler(rng)
    texts = [shapes.as_line(line) for line in good]
    for _ in range(rng.choice((1, 3, 10))):
        at, way = rng.randrange(len(texts)), rng.random()
        if way < 0.7:
            texts[at] = shapes.spoiled(scrambler, rng.choice(good))
        elif way < 0.8:
            texts[at] = scrambler.line(texts[at])
        elif way < 0.9:
            texts.insert(rng.randrange(len(texts)), texts[at])
        else:
            del texts[at : at + rng.randrange(len(texts))]
    data = "\n".join(texts).encode("utf-8", "surrogatepass")
    at = rng.randrange(len(data))
    return data[:at] + b"\xff\x00\xed\xa0\x80" + data[at + 1 :] if rng.random() < 0.2 else data


def _smallest(work: Callable[[bytes], str], data: bytes, still: Callable[[BaseException], bool]) -> str:
    """Return the smallest file that causes the same fault."""

    def fails(candidate: bytes) -> bool:
        try:
            work(candidate)
        except BaseException as error:
            return still(error)
        return False

    return repr(shrink(data, smaller_bytes, fails))

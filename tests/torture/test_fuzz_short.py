"""The short form of ``python -m tests.torture fuzz``, and that it can tell what is broken from what is not."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from supervisor.config import reader
from supervisor.engine.translate import Translator
from tests.torture.fuzz import run
from tests.torture.fuzzing.checks import MemoryWatch, Tally

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer of processor time")
SEED = 20


@pytest.mark.parametrize(("part", "total"), [("lines", 2_000), ("files", 300), ("transcripts", 80)])
def test_what_others_write_breaks_nothing(part: str, total: int) -> None:
    tally = run(part, SEED, total)
    assert not tally.faults, tally.report()
    assert tally.done >= total
    assert len(tally.outcomes) > 2, "the inputs are all of one kind"


def test_a_reader_that_trusts_a_message_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def trusting(_: Translator, message: object) -> Iterator[None]:
        message.content.strip()  # type: ignore[attr-defined]
        return iter(())

    monkeypatch.setattr(Translator, "translate", trusting)
    tally = run("lines", SEED, 5)
    assert tally.faults
    assert tally.first is not None
    number, _, reproducer = tally.first
    assert len(reproducer) < 60, "it was not made smaller"
    assert f"number {number}" in tally.report()


def test_a_file_that_does_not_end_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(*_: object) -> None:
        while True:
            pass

    monkeypatch.setattr(reader, "read", endless)
    monkeypatch.setattr("tests.torture.fuzzing.files.SECONDS_EACH", 0.02)
    monkeypatch.setattr("tests.torture.fuzzing.checks.SHRINK_TRIES", 0)
    tally = run("files", SEED, 1)
    assert any("TooSlowError" in fault for fault in tally.faults)


def test_memory_that_grows_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gc.collect", int)  # takes its time in a large process
    for each, grows in ((2_000, True), (0, False)):
        tally, kept = Tally("memory", 1.0), []
        watch = MemoryWatch(90, margin_bytes=50_000)
        for number in range(1, 91):
            kept.append(bytes(each))
            watch.look(number)
        watch.stop(tally)
        assert bool(tally.faults) is grows, tally.report()

"""How attempts are written: a row of the table, and every field that was recorded. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.core.model import Outcome
from supervisor.core.transcript import telling
from widgets.cells import Piece, Tone, drawable
from widgets.effect_words import span, stamp
from widgets.formatting import money
from widgets.labelled import Fact
from widgets.record_table import Record, RecordColumn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from supervisor.core.model import AttemptRecord

ATTEMPTS: tuple[RecordColumn, ...] = (
    RecordColumn("TRY", 4, right=True),
    RecordColumn("MODE", 8, 4),
    RecordColumn("SESSION", 8, 7),
    RecordColumn("STARTED", 14, 5),
    RecordColumn("TURNS", 5, 6, right=True),
    RecordColumn("SUBTYPE", 28, 3),
    RecordColumn("TERMINAL REASON", 24, 2),
    RecordColumn("COST", 6, 1, right=True),
    RecordColumn("WHY IT ENDED", 0, grows=True),
)
_OUTCOMES = {
    Outcome.DONE: "done",
    Outcome.LIMIT: "limit reached",
    Outcome.API_ERROR: "API failed",
    Outcome.INTERRUPTED: "interrupted",
    Outcome.FAILED_RESUME: "the session could not be resumed",
    Outcome.FAILED_RUN: "the run failed",
    Outcome.CRASHED: "crashed",
    Outcome.LOST: "the supervisor died first",
}
_CALM = (Outcome.DONE, Outcome.LIMIT, Outcome.INTERRUPTED)


def attempt_records(attempts: Sequence[AttemptRecord], now: float) -> list[Record]:
    """Return attempts as rows, newest first. How a turn ended is said of one that is over: before that it may go on."""
    return [_record(attempt, now) for attempt in reversed(attempts)]


def _record(attempt: AttemptRecord, now: float) -> Record:
    cells: tuple[Piece, ...] = (
        (str(attempt.number), Tone.ACCENT),
        (attempt.mode.value, Tone.PLAIN),
        (drawable(attempt.session_id[:8]), Tone.MUTED),
        (stamp(attempt.started, now), Tone.MUTED),
        (str(attempt.num_turns or ""), Tone.MUTED),
        (drawable(attempt.subtype or "") if attempt.ended is not None else "", Tone.PLAIN),
        (drawable(attempt.terminal_reason or "") if attempt.ended is not None else "", Tone.PLAIN),
        (cost(attempt), Tone.PLAIN),
        why_ended(attempt),
    )
    return Record(str(attempt.number), cells)


def cost(attempt: AttemptRecord) -> str:
    """Return what an attempt cost; ``≈`` marks a part that we estimated."""
    return money(attempt.cost_usd, estimated=attempt.estimated) if attempt.cost_usd or attempt.estimated else ""


def why_ended(attempt: AttemptRecord) -> Piece:
    """Return in a few safe words why an attempt ended."""
    if attempt.ended is None:
        return "● under way", Tone.ACCENT
    words = _OUTCOMES[attempt.outcome] if attempt.outcome is not None else ""
    detail = attempt.detail or next(iter(telling(attempt.errors)), "")
    tone = Tone.PLAIN if attempt.outcome in _CALM or attempt.outcome is None else Tone.BAD
    return drawable(": ".join(part for part in (words, detail) if part)), tone


def attempt_facts(attempt: AttemptRecord, now: float) -> list[Fact]:
    """Return every field that was recorded of an attempt, as of ``now``, seconds since the epoch."""
    ended = "under way" if attempt.ended is None else stamp(attempt.ended, now)
    took = "" if attempt.ended is None else f", after {span(attempt.ended - attempt.started)}"
    is_bad = attempt.is_error or attempt.outcome not in (*_CALM, None)
    facts = [
        Fact("try", str(attempt.number)),
        Fact("mode", attempt.mode.value),
        Fact("session", attempt.session_id),
        Fact("resumed from", attempt.resumed_from or ""),
        Fact("model", attempt.model or ""),
        Fact("started", stamp(attempt.started, now)),
        Fact("ended", f"{ended}{took}"),
        Fact("outcome", attempt.outcome.value.replace("_", " ") if attempt.outcome is not None else ""),
        *_turn_facts(attempt),
        Fact("turns", str(attempt.num_turns)),
        Fact("cost", _cost_words(attempt)),
        Fact("cap", "" if attempt.cap_usd is None else money(attempt.cap_usd)),
        Fact("session's total", "" if attempt.baseline_usd is None else f"{money(attempt.baseline_usd)} before it"),
        Fact("process", _process(attempt)),
        Fact("exit code", "" if attempt.exit_code is None else str(attempt.exit_code)),
        Fact("detail", attempt.detail),
    ]
    errors = [
        Fact("error" if len(attempt.errors) == 1 else f"error {n}", text) for n, text in enumerate(attempt.errors, 1)
    ]
    return [*facts, *errors, Fact("stderr, its end", attempt.stderr_tail, Tone.BAD if is_bad else Tone.PLAIN)]


def _turn_facts(attempt: AttemptRecord) -> list[Fact]:
    """Return how the last turn ended; of an attempt that is under way in one fact, since another turn goes on."""
    status = str(attempt.api_error_status or "")
    if attempt.ended is None:
        said = (attempt.subtype, attempt.terminal_reason, f"API error {status}" if status else "")
        return [Fact("the turn before", " · ".join(word for word in said if word))]
    return [
        Fact("subtype", attempt.subtype or ""),
        Fact("terminal reason", attempt.terminal_reason or ""),
        Fact("is an error", "" if attempt.is_error is None else "yes" if attempt.is_error else "no"),
        Fact("API error", status),
    ]


def _cost_words(attempt: AttemptRecord) -> str:
    words = f"${attempt.cost_usd:.4f}"
    return f"≈{words}, of which we estimated a part: it died without a result" if attempt.estimated else words


def _process(attempt: AttemptRecord) -> str:
    if attempt.pid is None:
        return ""
    start = f", started at tick {attempt.pid_start}" if attempt.pid_start is not None else ""
    return f"pid {attempt.pid}{start}" + (f" of boot {attempt.boot_id}" if attempt.boot_id else "")

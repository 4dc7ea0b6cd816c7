"""The verbs from a shell while no supervisor runs: what only changes a state is done, the rest is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.cli import run_command, verbs
from supervisor.control_client import ask
from supervisor.core.model import RESTING, State, TicketSnapshot, Why
from supervisor.core.verbs import BY_NAME, VERBS, Verb
from supervisor.engine.lock import BatchLock
from tests.cli.places import by_id, leave, letters, states, ticket

if TYPE_CHECKING:
    from collections.abc import Callable

    Shell = Callable[..., tuple[int, str, str]]

ROOT = Path(__file__).parents[2]
S = State


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A batch with a ticket in every state."""
    return leave(tmp_path / "state", *(_worked(f"{n:03}-{state.value}", state) for n, state in enumerate(State)))


def _worked(ident: str, state: State) -> TicketSnapshot:
    begun: dict[str, Any] = {} if state is S.QUEUED else {"session_id": f"session {ident}", "attempts": 1}
    return ticket(ident, state, budget_usd=1.0, **begun)


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    """Runs a command and returns its code, output and errors."""

    def run(*argv: object) -> tuple[int, str, str]:
        code = run_command([str(a) for a in argv])
        streams = capsys.readouterr()
        assert "Traceback" not in streams.err
        return code, streams.out, streams.err

    return run


APPLIES: dict[str, dict[State, State]] = {
    "interrupt": {S.QUEUED: S.PAUSED, S.PARKED: S.PAUSED},
    "resume": dict.fromkeys((S.NEEDS_YOU, S.PAUSED, S.DONE, S.FAILED, S.CANCELLED), S.QUEUED),
    "cancel": dict.fromkeys((s for s in S if s not in (S.DONE, S.CANCELLED)), S.CANCELLED),
}
TOLD = {
    "message": ("Hello.",),
    "budget": ("2.50",),
    "priority": ("3",),
    "start-over": ("--yes",),
    "fork": ("Another way.",),
    "rewind": ("--to", "1", "--yes"),
}


@pytest.mark.parametrize("verb", APPLIES)
@pytest.mark.parametrize("state", State)
def test_every_verb_in_every_state(place: Path, shell: Shell, verb: str, state: State) -> None:
    ident = next(i for i, s in states(place).items() if s is state)
    before = states(place)
    code, out, _ = shell(verb, ident, "--state-dir", place)
    to = APPLIES[verb].get(state)
    assert code == (0 if to else 1)
    assert out.startswith(f"{ident}  {'accepted' if to else 'refused'}: ")
    assert states(place) == {**before, ident: to or state}


@pytest.mark.parametrize("verb", TOLD)
@pytest.mark.parametrize("state", State)
def test_verbs_that_are_told_something_are_letters_for_the_next_supervisor(
    place: Path, shell: Shell, verb: str, state: State
) -> None:
    """A message also takes a resting ticket up; what does not apply is refused and leaves no letter."""
    ident = next(i for i, s in states(place).items() if s is state)
    before, ticket = states(place), by_id(place)[ident]
    applies = BY_NAME[verb].refusal(ticket) is None
    code, out, err = shell(verb, ident, *TOLD[verb], "--state-dir", place)
    assert (code, err) == (0 if applies else 1, "")
    assert out.startswith(f"{ident}  {'accepted' if applies else 'refused'}: ")
    is_set = verb in ("budget", "priority")
    left = [verb] if applies and not is_set else []
    assert [letter.verb for letter in letters(place) if letter.actor] == left
    if is_set and applies:
        after = by_id(place)[ident]
        assert (after.budget_usd, after.priority) == ((2.5, 0) if verb == "budget" else (1.0, 3))
    wakes = verb == "message" and state in RESTING and applies
    assert states(place) == {**before, ident: State.QUEUED if wakes else state}


def test_words_may_stand_on_both_sides_of_options(place: Path, shell: Shell) -> None:
    for argv in (("005", "--now", "Stop that."), ("--now", "005", "Stop that."), ("005", "Stop that.", "--now")):
        assert shell("message", *argv, "--state-dir", place)[0] == 0
    assert [dict(letter.args) for letter in letters(place)] == [{"text": "Stop that.", "now": True}] * 3


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("message", "005"), "then TEXT"),
        (("message", "005", " "), "blank"),
        (("message",), "say TEXT"),
        (("budget", "005", "much"), '"much" is no sum'),
        (("budget", "005"), "then USD"),
        (("budget", "005", "006"), '"006" is no sum'),
        (("budget", "005", "1e9"), "is no sum"),
        (("budget", "005", "006", "nan"), "is no sum"),
        (("budget", "005", "+1", "--turns", "5"), '"+1" is no ticket'),
        (("budget", "005", "$3", "--tokens", "5"), "--usd $3"),
        (("budget", "--turns", "5"), "name one or more tickets"),
        (("budget", "005", "--none", "--usd", "5"), "exclude each other"),
        (("priority", "005", "first"), "no whole number"),
        (("fork", "005"), "say what the fork shall do"),
        (("rewind", "005", "--to", "1"), "nobody can be asked here"),
        (("rewind", "005", "--to", "1", "--undo"), "--undo goes alone"),
    ],
)
def test_bad_usage_says_what_is_missing(place: Path, shell: Shell, argv: tuple[str, ...], words: str) -> None:
    code, out, err = shell(*argv, "--state-dir", place)
    assert code in (1, 2)
    assert words in out + err
    assert letters(place) == ()


@pytest.mark.parametrize(
    ("argv", "set_"),
    [
        (("005", "006", "--turns", "5"), {"005-paused": (1.0, 5), "006-done": (1.0, 5)}),
        (("--turns", "5", "005", "006"), {"005-paused": (1.0, 5), "006-done": (1.0, 5)}),
        (("005", "006", "--turns", "5", "--usd", "+1"), {"005-paused": (2.0, 5), "006-done": (2.0, 5)}),
        (("005", "006", "--usd", "7"), {"005-paused": (7.0, None), "006-done": (7.0, None)}),
        (("005", "006", "+.50"), {"005-paused": (1.5, None), "006-done": (1.5, None)}),
        (("005", "006", "-0.25"), {"005-paused": (0.75, None), "006-done": (0.75, None)}),
        (("005", "--none"), {"005-paused": (None, None)}),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, tuple) else "",
)
def test_which_words_are_tickets_does_not_depend_on_how_they_look(
    place: Path, shell: Shell, argv: tuple[str, ...], set_: dict[str, tuple[float | None, int | None]]
) -> None:
    before = by_id(place)
    code, _, err = shell("budget", *argv, "--state-dir", place)
    assert (code, err) == (0, "")
    changed = {ident: t for ident, t in by_id(place).items() if t != before[ident]}
    assert {ident: (t.budget_usd, t.max_turns) for ident, t in changed.items()} == set_


def test_turns_and_tokens_over_all_attempts_are_set_from_the_shell(place: Path, shell: Shell) -> None:
    assert shell("budget", "005", "--turns-in-all", "80", "--tokens", "2000000", "--state-dir", place)[0] == 0
    after = by_id(place)["005-paused"]
    assert (after.budget_turns, after.budget_tokens, after.budget_usd) == (80, 2_000_000, 1.0)


def test_a_higher_budget_alone_takes_up_nobody_and_says_so(tmp_path: Path, shell: Shell) -> None:
    resting = ticket("001", S.NEEDS_YOU, budget_usd=1.0, session_id="s", attempts=1, why=Why.LIMIT)
    place = leave(tmp_path / "other", resting)
    _, out, _ = shell("budget", "001", "+1", "--state-dir", place)
    assert out == "001  accepted: budget $2.00; resume it to go on\n"
    assert states(place) == {"001": S.NEEDS_YOU}


def test_a_resumed_ticket_waits_for_the_next_start_and_not_for_a_slot(place: Path, shell: Shell) -> None:
    assert shell("resume", "005", "--state-dir", place)[1] == "005-paused  accepted: goes on at the next start\n"


def test_resume_can_raise_the_limits_first(place: Path, shell: Shell) -> None:
    assert shell("resume", "005", "--budget", "+7", "--turns", "9", "--state-dir", place)[0] == 0
    after = by_id(place)["005-paused"]
    assert (after.state, after.budget_usd, after.max_turns) == (State.QUEUED, 8.0, 9)


def test_limits_of_all_are_raised_only_where_the_ticket_is_resumed(place: Path, shell: Shell) -> None:
    assert shell("resume", "--all", "--budget", "+7", "--state-dir", place)[0] == 0
    raised = {ident for ident, after in by_id(place).items() if after.budget_usd == 8.0}
    assert raised == {"003-needs_you", "005-paused", "007-failed"}


@pytest.mark.parametrize("argv", [("start-over", "005", "--yes"), ("interrupt", "--all")])
def test_what_takes_its_time_is_waited_for(
    place: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch, argv: tuple[str, ...]
) -> None:
    patience: list[float] = []

    def slow(_: Path, __: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        patience.append(timeout_s)
        return {"verb": argv[0], "tickets": []}

    monkeypatch.setattr(verbs, "request", slow)
    assert shell(*argv, "--state-dir", place)[0] == 0
    assert min(patience) > 60


def test_bytes_that_are_no_text_are_no_message(place: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(b"\xff"), "utf-8"))
    code, _, err = shell("message", "005", "-", "--state-dir", place)
    assert (code, letters(place)) == (2, ())
    assert "no text" in err


def test_interrupting_what_a_dead_supervisor_left_running_is_refused(place: Path, shell: Shell) -> None:
    code, out, _ = shell("interrupt", "002", "--state-dir", place)
    assert (code, out) == (
        1,
        "002-running  refused: no supervisor is running: 002-running was cut off and goes on at the next start\n",
    )


def test_bulk_reports_for_each_ticket(place: Path, shell: Shell) -> None:
    code, out, _ = shell("resume", "005", "006-done", "000", "nonesuch", "--state-dir", place, "--json")
    assert code == 1
    data = json.loads(out)
    assert data["verb"] == "resume"
    assert [(t["ticket"], t["accepted"]) for t in data["tickets"]] == [
        ("005-paused", True),
        ("006-done", True),
        ("000-queued", False),
        ("nonesuch", False),
    ]
    assert "only a resting ticket can be resumed" in data["tickets"][2]["says"]


def test_the_same_ticket_twice_is_one(place: Path, shell: Shell) -> None:
    code, out, _ = shell("resume", "005", "005-paused", "005", "--state-dir", place)
    assert (code, len(out.splitlines())) == (0, 1)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("003-neds_you", 'there is no ticket "003-neds_you": did you mean "003-needs_you"?'),
        ("00", '"00" could be 000-queued, 001-starting, 002-running, 003-needs_you, 004-parked, …'),
        ("", 'there is no ticket ""'),
        ("\x1b[31mred", 'there is no ticket "␛[31mred"'),
        ("x" * 100_000, 'there is no ticket "xxx'),
    ],
)
def test_a_name_that_names_no_ticket(place: Path, shell: Shell, name: str, says: str) -> None:
    code, out, _ = shell("cancel", name, "--state-dir", place)
    assert code == 1
    assert says in out
    assert "\x1b" not in out


def test_all_is_what_the_verb_applies_to(place: Path, shell: Shell) -> None:
    code, out, _ = shell("interrupt", "--all", "--state-dir", place)
    lines = [line.split() for line in out.splitlines()]
    assert code == 1
    assert {line[0]: line[1] for line in lines} == {
        "000-queued": "accepted:",
        "001-starting": "refused:",
        "002-running": "refused:",
        "004-parked": "accepted:",
    }


def test_resuming_all_leaves_what_is_done_or_cancelled(place: Path, shell: Shell) -> None:
    assert shell("resume", "--all", "--state-dir", place)[0] == 0
    now = states(place)
    assert now["006-done"] is S.DONE
    assert now["008-cancelled"] is S.CANCELLED
    assert now["003-needs_you"] is now["005-paused"] is now["007-failed"] is S.QUEUED


def test_all_of_nothing(tmp_path: Path, shell: Shell) -> None:
    place = leave(tmp_path / "state", ticket("001", S.DONE))
    assert shell("cancel", "--all", "--state-dir", place) == (0, "there is no ticket to cancel\n", "")


def test_a_ticket_that_was_live_when_its_supervisor_died_can_be_resumed(tmp_path: Path, shell: Shell) -> None:
    place = leave(tmp_path / "state", ticket("001", S.NEEDS_YOU, Why.APPROVE_TOOL, live=True))
    assert shell("resume", "001", "--state-dir", place)[0] == 0
    assert states(place) == {"001": S.QUEUED}


@pytest.mark.parametrize("argv", [[], ["001", "--all"], ["--nonsense"]])
def test_bad_usage(place: Path, shell: Shell, argv: list[str]) -> None:
    code, out, err = shell("interrupt", *argv, "--state-dir", place)
    assert (code, out) == (2, "")
    assert err.startswith("usage: supervise")


def test_no_batch(tmp_path: Path, shell: Shell) -> None:
    code, _, err = shell("cancel", "001", "--file", tmp_path / "tickets.toml")
    assert code == 2
    assert "holds no batch: start one with `supervise run`" in err
    assert list(tmp_path.iterdir()) == []


def test_the_batch_beside_a_file_and_the_one_a_rehearsal_keeps(tmp_path: Path, shell: Shell) -> None:
    leave(tmp_path / ".supervisor", ticket("001"), ticket("002"))
    assert shell("cancel", "001", "--file", tmp_path / "tickets.toml")[0] == 0
    assert shell("cancel", "002", "--state-dir", tmp_path)[0] == 0
    assert set(states(tmp_path / ".supervisor").values()) == {S.CANCELLED}


@pytest.mark.parametrize("verb", VERBS, ids=lambda v: v.name)
def test_help_is_the_tables(verb: Verb, shell: Shell) -> None:
    code, out, _ = shell(verb.name, "--help")
    assert code == 0
    assert " ".join(verb.help.split()) in " ".join(out.split())
    assert f"example:\n  {verb.example}" in out
    assert "exit codes:" in out


def _start(*argv: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "supervisor", *map(str, argv)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_commands_at_the_same_time_wait_for_each_other(tmp_path: Path) -> None:
    place = leave(tmp_path / "state", *(ticket(f"{n:03}") for n in range(6)))
    started = [_start("cancel", f"{n:03}", "--state-dir", place) for n in range(6)]
    outputs = [process.communicate(timeout=50)[0] for process in started]
    assert outputs == [f"{n:03}  accepted: is cancelled\n" for n in range(6)]
    assert set(states(place).values()) == {S.CANCELLED}


def test_a_supervisor_that_does_not_answer_is_named(place: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("supervisor.cli.common.ask", lambda where, what, _: ask(where, what, 0.05))
    with BatchLock(place / "lock"):
        code, _, err = shell("cancel", "000", "--state-dir", place)
    assert code == 2
    assert "does not answer" in err


def test_asking_loads_nothing_heavy() -> None:
    code = "import sys, supervisor.cli; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & {"anyio", "asyncio", "sqlite_utils", "sqlite3", "tomllib", "textual"}

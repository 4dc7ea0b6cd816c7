"""``supervise effects`` without a supervisor: seen, decided, written down, and the ticket goes on at the next start."""

from __future__ import annotations

import getpass
import io
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.cli import run_command
from supervisor.core.model import State, Why
from tests.cli.places import ALIVE, DEAD, effect, leave, leave_claimed, leave_unresolved, log, states, ticket

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from supervisor.core.effects import Owner

    Shell = Callable[..., tuple[int, str, str]]

KEY = "001:deploy"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A batch whose ticket waits for an effect that nobody knows the end of."""
    state_dir = leave(tmp_path / "state", ticket("001", State.NEEDS_YOU, Why.UNRESOLVED_EFFECT))
    leave_unresolved(state_dir)
    return state_dir


@pytest.fixture
def shell(place: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    """Runs ``supervise effects`` on the batch and returns its code, output and errors."""

    def run(*argv: object) -> tuple[int, str, str]:
        code = run_command(["effects", *map(str, argv), "--state-dir", str(place)])
        streams = capsys.readouterr()
        assert "Traceback" not in streams.err
        return code, streams.out, streams.err

    return run


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Puts somebody at the terminal who types."""

    def typed(words: str) -> None:
        stdin = io.StringIO(words)
        monkeypatch.setattr(stdin, "isatty", lambda: True)
        monkeypatch.setattr(sys, "stdin", stdin)
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)

    return typed


def test_list(place: Path, shell: Shell) -> None:
    leave_claimed(place, op="comment", ticket="\x1b[2J")
    code, out, _ = shell("list")
    assert code == 0
    lines = [line.split() for line in out.splitlines()]
    assert lines[0] == ["STATE", "KEY", "TICKET", "AGE", "ATTEMPTS"]
    assert [(line[0], line[1], line[-1]) for line in lines[1:]] == [
        ("unresolved", KEY, "1"),
        ("claimed", "001:comment", "1"),
    ]
    assert "\x1b" not in out
    assert "␛[2J" in out


def test_list_of_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state_dir = leave(tmp_path / "new", ticket("001"))
    assert run_command(["effects", "list", "--state-dir", str(state_dir)]) == 0
    assert capsys.readouterr().out == "no ticket has asked for an effect yet\n"


def test_list_as_json_is_the_contracts(shell: Shell) -> None:
    data = json.loads(shell("list", "--json")[1])
    (found,) = data["effects"]
    assert {k: found[k] for k in ("key", "ticket", "state", "version", "outcome", "attempts", "error")} == {
        "key": KEY,
        "ticket": "001",
        "state": "unresolved",
        "version": 2,
        "outcome": None,
        "attempts": 1,
        "error": "timed out",
    }


def test_show_says_everything(place: Path, shell: Shell) -> None:
    leave_claimed(place, op="comment", payload={"body": "a\x1b[2J\nb"}, said="I will\n\x9b2J comment.")
    code, out, _ = shell("show", "001:com")
    assert code == 0
    assert out.startswith("001:comment is claimed (version 1)\n")
    for words in (
        "once",
        "remote key",
        "gone",
        '"body": "a\\u001b[2J\\nb"',
        "I will",
        "claim → claimed (version 1), agent",
    ):
        assert words in out
    assert not any(c in out for c in "\x1b\x9b")


def test_show_as_json(shell: Shell) -> None:
    data = json.loads(shell("show", KEY, "--json")[1])
    assert (data["key"], data["version"], data["payload"], data["owner_dead"]) == (KEY, 2, {"to": "prod"}, True)
    assert [row["verb"] for row in data["log"]] == ["claim", "settle"]


def test_an_unknown_key(shell: Shell) -> None:
    code, out, err = shell("show", "001:deplyo")
    assert (code, out) == (2, "")
    assert 'there is no effect "001:deplyo": did you mean "001:deploy"?' in err


@pytest.mark.parametrize(
    ("verb", "state", "rows"),
    [
        ("done", "done", ["done"]),
        ("not-done", "not_done", ["not_done"]),
        ("grant", "granted", ["grant"]),
        ("abandon", "abandoned", ["abandon"]),
    ],
)
def test_a_decision_is_written_down_and_its_ticket_goes_on(
    place: Path, shell: Shell, verb: str, state: str, rows: list[str]
) -> None:
    code, out, err = shell(verb, KEY, "--why", "I looked", "--evidence", "the log", "--yes")
    version = 2 + len(rows)
    assert (code, out) == (0, f"{KEY} is {state} (version {version})\n")
    assert f"{KEY} is unresolved (version 2). {verb}: " in err, "what is about to be decided"
    assert effect(place).state == state
    assert [row[0] for row in log(place)[2:]] == rows
    assert {row[1] for row in log(place)[2:]} == {"operator"}
    assert states(place) == {"001": State.QUEUED}


def test_who_decided_is_in_the_log(shell: Shell) -> None:
    shell("done", KEY, "--why", "I looked", "--evidence", "seen", "--outcome", "build 41", "--yes")
    data = json.loads(shell("show", KEY, "--json")[1])
    row = data["log"][-1]
    assert (row["actor"], row["reason"], row["evidence"], row["seen_version"]) == (
        getpass.getuser(),
        "I looked",
        "seen",
        2,
    )
    assert data["outcome"] == "build 41"


def test_a_ticket_with_another_effect_to_settle_waits_on(place: Path, shell: Shell) -> None:
    leave_unresolved(place, op="comment")
    assert shell("done", KEY, "--why", "x", "--yes")[0] == 0
    assert states(place) == {"001": State.NEEDS_YOU}
    assert shell("abandon", "001:comment", "--why", "x", "--yes")[0] == 0
    assert states(place) == {"001": State.QUEUED}


@pytest.mark.parametrize("state", [State.PAUSED, State.CANCELLED, State.FAILED])
def test_a_ticket_that_rests_for_another_reason_stays(tmp_path: Path, state: State) -> None:
    state_dir = leave(tmp_path / "other", ticket("001", state))
    leave_unresolved(state_dir)
    assert run_command(["effects", "done", KEY, "--why", "x", "--yes", "--state-dir", str(state_dir)]) == 0
    assert states(state_dir) == {"001": state}


@pytest.mark.parametrize(("verb", "state"), [("approve", "granted"), ("deny", "denied")])
def test_approval(tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: str, state: str) -> None:
    state_dir = leave(tmp_path / "asks", ticket("001", State.NEEDS_YOU, Why.APPROVE_EFFECT, live=True))
    leave_claimed(state_dir, approval=True)
    argv = ["effects", verb, KEY, "--state-dir", str(state_dir), *(["--why", "no"] if verb == "deny" else [])]
    assert run_command(argv) == 0
    assert capsys.readouterr().out == f"{KEY} is {state} (version 2)\n"
    assert states(state_dir) == {"001": State.QUEUED}


@pytest.mark.parametrize("verb", ["approve", "deny"])
def test_a_name_never_stands_for_another_tickets_effect(tmp_path: Path, verb: str) -> None:
    """A ticket that asks nothing may be called as another one begins, such as the parent of a fork."""
    waits = ticket("001", State.NEEDS_YOU, Why.APPROVE_EFFECT, live=True)
    state_dir = leave(tmp_path / "asks", ticket("00"), waits)
    leave_claimed(state_dir, approval=True)
    assert run_command([verb, "00", "--state-dir", str(state_dir)]) == 1
    assert effect(state_dir).state == "requested"
    assert run_command([verb, "001", "--state-dir", str(state_dir)]) == 0
    assert effect(state_dir).state == ("granted" if verb == "approve" else "denied")


def test_asks_lists_what_approve_takes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    waits = ticket("001", State.NEEDS_YOU, Why.APPROVE_EFFECT)
    state_dir = leave(tmp_path / "asks", waits, ticket("002"))
    leave_claimed(state_dir, approval=True)

    def asks(*argv: str) -> str:
        assert run_command(["asks", *argv, "--state-dir", str(state_dir)]) == 0
        return capsys.readouterr().out

    assert asks() == asks("001") == f"001  effect  approval  waits  {KEY}\n"
    assert asks("002") == "nothing is asked\n"
    data = json.loads(asks("--json"))
    assert (data["asks"], [e["key"] for e in data["effects"]]) == ([], [KEY])
    assert run_command(["approve", KEY, "--state-dir", str(state_dir)]) == 0
    assert capsys.readouterr().out == "001  approved\n"
    assert effect(state_dir).state == "granted"
    assert asks() == "nothing is asked\n"


def test_a_note_changes_nothing_else(place: Path, shell: Shell) -> None:
    assert shell("note", KEY, "--why", "asked the vendor")[0] == 0
    assert log(place)[-1] == ("note", "operator", "asked the vendor")
    assert effect(place).version == 2
    assert states(place) == {"001": State.NEEDS_YOU}


def test_a_stale_version_is_refused(place: Path, shell: Shell) -> None:
    code, out, err = shell("done", KEY, "--why", "x", "--yes", "--version", 1)
    assert (code, out) == (1, "")
    assert (
        err == f"supervise: {KEY} has changed since it was shown: it is unresolved now: look at it again, then decide\n"
    )
    assert effect(place).state == "unresolved"
    assert shell("done", KEY, "--why", "x", "--yes", "--version", 2)[0] == 0


def test_a_decision_that_does_not_apply(shell: Shell) -> None:
    code, _, err = shell("approve", KEY)
    assert code == 1
    assert f"{KEY} is unresolved: approve does not apply" in err
    code, out, _ = shell("approve", KEY, "--json")
    assert code == 1
    assert json.loads(out)["kind"] == "DecisionRefused"


@pytest.mark.parametrize("verb", ["done", "not-done", "grant", "abandon"])
def test_a_dangerous_decision_needs_a_terminal_or_yes(place: Path, shell: Shell, verb: str) -> None:
    code, out, err = shell(verb, KEY, "--why", "x")
    assert (code, out) == (2, "")
    assert "give --yes if you are sure" in err
    assert effect(place).version == 2


@pytest.mark.parametrize(("typed", "state"), [("y\n", "done"), ("n\n", "unresolved"), ("", "unresolved")])
def test_a_terminal_is_asked_and_told_what_could_go_wrong(
    place: Path, shell: Shell, terminal: Callable[[str], None], typed: str, state: str
) -> None:
    terminal(typed)
    code, _, err = shell("done", KEY, "--why", "x")
    assert "If it did not happen, it never will" in err
    assert code == (0 if state == "done" else 1)
    assert effect(place).state == state


@pytest.mark.parametrize("argv", [["done", KEY], ["deny", KEY], ["done", KEY, "--why", " ", "--yes"], ["done"], []])
def test_bad_usage(place: Path, shell: Shell, argv: list[str]) -> None:
    code, out, _ = shell(*argv)
    assert (code, out) == (2, "")
    assert effect(place).version == 2


@pytest.fixture
def held(tmp_path: Path, place: Path) -> Path:
    """The same batch, with an effect whose owner still lives."""
    leave_unresolved(place, ALIVE, op="release")
    return place


def test_granting_while_its_owner_may_be_at_work_needs_its_name(held: Path, shell: Shell) -> None:
    code, _, err = shell("grant", "001:release", "--why", "x", "--yes")
    assert code == 1
    assert "is not proved dead" in err
    assert "--i-know NAME" in err
    assert shell("grant", "001:release", "--why", "x", "--yes", "--i-know", "deploy")[0] == 1
    assert effect(held, "release").state == "unresolved"
    assert shell("grant", "001:release", "--why", "x", "--yes", "--i-know", "release")[0] == 0
    assert effect(held, "release").state == "granted"


@pytest.mark.parametrize(("typed", "state"), [("release", "granted"), ("relase", "unresolved"), ("", "unresolved")])
def test_the_name_can_be_typed(
    held: Path, shell: Shell, terminal: Callable[[str], None], typed: str, state: str
) -> None:
    terminal(f"y\n{typed}\n")
    assert shell("grant", "001:release", "--why", "x")[0] == (0 if state == "granted" else 1)
    assert effect(held, "release").state == state


def test_a_grant_may_be_for_another_ticket(place: Path, shell: Shell) -> None:
    assert shell("grant", KEY, "--why", "x", "--yes", "--ticket", "001.2")[0] == 0
    assert effect(place).granted_to == "001.2"


@pytest.mark.parametrize(("owner", "code"), [(DEAD, 0), (ALIVE, 1)], ids=["dead", "alive"])
def test_a_claim_can_be_decided_once_its_owner_is_proved_dead(
    place: Path, shell: Shell, owner: Owner, code: int
) -> None:
    leave_claimed(place, owner, op="release")
    assert shell("done", "001:release", "--why", "x", "--yes")[0] == code
    assert effect(place, "release").state == ("done" if code == 0 else "claimed")


def test_a_probe_needs_a_supervisor(shell: Shell) -> None:
    code, _, err = shell("probe", KEY)
    assert code == 1
    assert "no supervisor is running: start one with `supervise`" in err


def test_text_that_no_table_can_hold(place: Path, shell: Shell) -> None:
    assert shell("done", KEY, "--why", "\udcff\x00\x1b[2J", "--outcome", "\ud800", "--yes")[0] == 0
    code, out, _ = shell("show", KEY)
    assert code == 0
    assert "\x1b" not in out
    assert shell("show", KEY, "--json")[0] == 0


def test_secrets_of_the_environment_stay_out(place: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEPLOY_TOKEN", "hunter2hunter2")
    shell("done", KEY, "--why", "curl -H hunter2hunter2", "--yes")
    assert log(place)[-1][2] == "curl -H [DEPLOY_TOKEN]"


def test_every_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    for what in ("list", "show", "probe", "done", "not-done", "grant", "abandon", "approve", "deny", "note"):
        assert run_command(["effects", what, "--help"]) == 0
        said = capsys.readouterr().out
        assert f"example:\n  supervise effects {what}" in said


def test_status_names_the_effects(place: Path) -> None:
    from supervisor.core.spec import BatchSpec
    from supervisor.report import status

    data: dict[str, Any] = status(BatchSpec("b", place / "tickets.toml", place, ()), place)
    assert [(e["key"], e["ticket"], e["state"], e["version"], e["outcome"]) for e in data["effects"]] == [
        (KEY, "001", "unresolved", 2, None)
    ]

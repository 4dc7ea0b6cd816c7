"""``supervise doctor`` and ``supervise backup``: what is wrong is named with its remedy, and mended only when asked."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.cli import run_command
from supervisor.core import events as ev
from supervisor.core.board import Board
from supervisor.core.effects import EffectState as S
from supervisor.core.model import Mode
from supervisor.doctor import machine, state
from supervisor.engine import filesystem
from supervisor.engine.batch import make_state_dir
from supervisor.engine.lock import BatchLock
from supervisor.engine.process import identify
from supervisor.store.checkup import has_reset_bug
from supervisor.store.database import connect
from supervisor.store.tickets import append
from supervisor.store.watermark import Watermark, users_directory
from tests.e2e.stage import make_repo
from tests.store.damage import effects, fill, page_with, ruin
from tests.store.ledgers import claim, epoch, settle, tx

if TYPE_CHECKING:
    from collections.abc import Callable

    Shell = Callable[..., tuple[int, str, str]]

SECRET = "sk-this-is-the-value"
BATCH = """
[effects.deploy]
kind = "once"
description = "Deploy."
command = ["true"]
env = ["DEPLOY_TOKEN", "DEPLOY_HOST"]

[effects.post]
kind = "once"
description = "Post."
handler = "hooks:post"

[[ticket]]
id = "001"
prompt = "Do it."
permission_mode = "bypassPermissions"
project_instructions = true
effects = ["deploy"]

[[ticket]]
id = "002"
prompt = "Do it."
"""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a batch that has been run."""
    path = make_repo(tmp_path_factory.mktemp("template") / "repo")
    (path / "tickets.toml").write_text('[[ticket]]\nid = "001"\nprompt = "Do it."\n')
    fill(make_state_dir(path / ".supervisor") / "state.db")
    return path


@pytest.fixture
def repo(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, a key, and a CLI that tells its version at once."""
    path = Path(shutil.copytree(template, tmp_path / "repo"))
    cli = tmp_path / "claude"
    cli.write_text("#!/bin/sh\necho '2.9.9 (Claude Code)'\n")
    cli.chmod(0o700)
    monkeypatch.setattr(machine, "find_cli", lambda: cli)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    with closing(connect(path / ".supervisor" / "state.db")) as db:
        _watermark(path).accept(db)
    return path


def _watermark(repo: Path) -> Watermark:
    return Watermark(repo / ".supervisor", users_directory())


@pytest.fixture
def shell(repo: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    """Runs a command on the batch and returns its code, output and errors."""

    def run(*argv: object) -> tuple[int, str, str]:
        code = run_command(list(map(str, argv)))
        streams = capsys.readouterr()
        assert "Traceback" not in streams.err
        assert SECRET not in streams.out + streams.err
        return code, streams.out, streams.err

    return run


@pytest.fixture
def look(repo: Path, shell: Shell) -> Callable[[], dict[str, list[tuple[str, str]]]]:
    """Looks, and returns by name how each finding is and what it says with its remedy."""

    def run() -> dict[str, list[tuple[str, str]]]:
        code, out, _ = shell("doctor", repo / "tickets.toml", "--json")
        data = json.loads(out)
        assert code == (0 if data["ok"] else 1)
        assert data["ok"] is all(f["level"] != "fault" for f in data["findings"])
        found: dict[str, list[tuple[str, str]]] = {}
        for f in data["findings"]:
            found.setdefault(f["name"], []).append((f["level"], ": ".join(x for x in (f["says"], f["remedy"]) if x)))
        return found

    return run


Look = Any


def test_a_batch_that_is_well(repo: Path, shell: Shell) -> None:
    code, out, err = shell("doctor", repo / "tickets.toml")
    assert (code, err) == (0, "")
    lines = [line.split(maxsplit=2) for line in out.splitlines()]
    assert {level for level, *_ in lines} == {"ok"}
    found = {name: says for _, name, says in lines}
    assert found["claude"].startswith("2.9.9 (Claude Code), found on PATH")
    assert found["key"] == "ANTHROPIC_API_KEY is in force"
    assert found["sessions"] == f"{repo}/.supervisor/claude (the batch's own)"
    assert found["database"].endswith("whole")
    assert found["ledger"].endswith("entries, which fit together")
    assert found["lock"] == "no supervisor is running"
    for name in ("supervise", "python", "sqlite", "sdk", "git", "space", "filesystem", "repository"):
        assert name in found


@pytest.mark.cli
def test_the_real_cli_tells_its_version(repo: Path, monkeypatch: pytest.MonkeyPatch, look: Look) -> None:
    from supervisor.preflight import find_cli

    monkeypatch.setattr(machine, "find_cli", find_cli)
    assert look()["claude"][0][1].split()[0].replace(".", "").isdigit()


def test_it_works_without_a_batch(tmp_path: Path, repo: Path, shell: Shell) -> None:
    code, out, _ = shell("doctor", tmp_path / "nothing" / "tickets.toml")
    assert code == 0
    assert "does not exist: looked at the machine only" in out
    assert "is not made yet" in out
    assert not (tmp_path / "nothing").exists()


def test_every_fault_of_the_file_is_there(repo: Path, look: Look) -> None:
    (repo / "tickets.toml").write_text('[[ticket]]\nid = "001"\nprompt = "x"\nmodle = "y"\n\n[[ticket]]\nid = "002"\n')
    levels = [level for level, _ in look()["batch"]]
    assert levels == ["fault", "fault"]
    assert "model" in look()["batch"][0][1]


def test_no_repository_and_no_cli(repo: Path, look: Look, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shutil.rmtree(repo / ".git")
    monkeypatch.setattr(machine, "find_cli", lambda: tmp_path / "none")
    found = look()
    assert found["repository"][0][0] == found["claude"][0][0] == "fault"


@pytest.mark.parametrize(
    ("env", "level", "says"),
    [
        ({}, "ok", "ANTHROPIC_API_KEY is in force"),
        ({"ANTHROPIC_AUTH_TOKEN": SECRET}, "warn", "ANTHROPIC_AUTH_TOKEN is in force, and ANTHROPIC_API_KEY would be"),
        ({"ANTHROPIC_AUTH_TOKEN": SECRET, "ANTHROPIC_API_KEY": ""}, "warn", "ANTHROPIC_AUTH_TOKEN is in force, which"),
        ({"CLAUDE_CODE_OAUTH_TOKEN": SECRET, "ANTHROPIC_API_KEY": ""}, "ok", "CLAUDE_CODE_OAUTH_TOKEN is in force"),
        ({"CLAUDE_CODE_USE_BEDROCK": "1", "ANTHROPIC_API_KEY": ""}, "ok", "CLAUDE_CODE_USE_BEDROCK is in force"),
    ],
)
def test_which_key_is_in_force(
    look: Look, monkeypatch: pytest.MonkeyPatch, env: dict[str, str], level: str, says: str
) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    ((found, words),) = look()["key"]
    assert found == level
    assert words.startswith(says)


def test_no_login_at_all(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    assert look()["sessions"][0][0] == "fault"
    assert "ANTHROPIC_API_KEY" in look()["sessions"][0][1]


def test_requests_that_go_elsewhere(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "api" not in look()
    monkeypatch.setenv("ANTHROPIC_BASE_URL", f"https://user:{SECRET}@example.org")
    assert look()["api"][0][0] == "warn"


def test_what_is_laid_open(repo: Path, look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    (repo / "tickets.toml").write_text(BATCH)
    monkeypatch.setenv("DEPLOY_TOKEN", SECRET)
    found = look()
    assert found["permissions"] == [
        (
            "warn",
            "bypassPermissions: these do whatever they like without asking: 001:"
            ' use "acceptEdits" and allowed_tools, or a sandbox',
        )
    ]
    assert found["settings"][0][0] == "warn"
    assert "loaded by 001:" in found["settings"][0][1]
    assert found["effects"] == [
        ("ok", '"deploy" is given DEPLOY_TOKEN, DEPLOY_HOST'),
        ("warn", '"deploy" needs DEPLOY_HOST: set them before you start'),
        ("ok", '"post" is Python (hooks:post): it runs in the supervisor and sees all it sees'),
    ]


def test_root(repo: Path, look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    (repo / "tickets.toml").write_text(BATCH)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.delenv("IS_SANDBOX", raising=False)
    found = look()
    assert found["user"][0][0] == "warn"
    assert found["permissions"][0][0] == "fault"


def test_a_directory_that_others_may_read(repo: Path, look: Look) -> None:
    (repo / ".supervisor").chmod(0o755)
    assert look()["state"] == [("warn", f"others may look into {repo}/.supervisor: chmod 700 {repo}/.supervisor")]


@pytest.mark.parametrize(("kind", "level"), [("nfs4", "fault"), ("virtiofs", "warn"), ("tmpfs", "warn"), ("xfs", "ok")])
def test_the_file_system(look: Look, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str, level: str) -> None:
    (tmp_path / "mountinfo").write_text(f"27 1 254:0 / / rw - {kind} server:/x rw\n")
    monkeypatch.setattr(filesystem, "MOUNTS", tmp_path / "mountinfo")
    ((found, words),) = look()["filesystem"]
    assert found == level
    assert kind in words


def test_a_full_disk(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "shortage", lambda space: "less than 200 MB free")
    ((found, words),) = look()["space"]
    assert found == "fault"
    assert words.endswith("less than 200 MB free: no ticket starts: free some space")


def test_a_damaged_database_is_named_and_repaired_when_asked(repo: Path, look: Look, shell: Shell) -> None:
    path = repo / ".supervisor" / "state.db"
    ruin(path, page_with(path, b"note-0150"))
    ((found, words),) = look()["database"]
    assert found == "fault"
    assert "damaged" in words
    assert "supervise doctor --repair" in words
    assert "ledger" not in look()
    code, out, _ = shell("doctor", repo / "tickets.toml", "--repair", "--yes")
    assert code == 0
    said = out.splitlines()
    assert said[0].startswith(f"repaired; the damaged database is kept as {path}.damaged-")
    assert "3 tickets" in said[1]
    assert said[2] == "not all could be read of: events"
    assert said[3].startswith("effects to be settled")
    assert {"001:claimed", "001:granted", "001:requested"} == set(said[3].split(": ")[1].split(", "))
    assert look()["database"] == [("ok", f"{path.stat().st_size / 1e6:,.1f} MB, whole")]
    assert look()["aside"][0][0] == "ok"
    assert effects(path)["requested"] is S.UNRESOLVED
    assert shell("doctor", repo / "tickets.toml", "--repair", "--yes")[1] == "nothing is wrong with the database\n"


def test_a_run_on_a_damaged_database_is_refused(repo: Path, shell: Shell) -> None:
    path = repo / ".supervisor" / "state.db"
    ruin(path, page_with(path, b"note-0150"))
    before = path.read_bytes()
    for command in (
        ["run", repo / "tickets.toml", "--headless"],
        ["interrupt", "001", "--file", repo / "tickets.toml"],
    ):
        code, out, err = shell(*command)
        assert (code, out) == (2, "")
        assert err.startswith(f"supervise: {path}: the database is damaged (")
        assert err.endswith("run `supervise doctor --repair`, or put a backup in its place\n")
    assert path.read_bytes() == before


def test_a_repair_as_data(repo: Path, shell: Shell) -> None:
    path = repo / ".supervisor" / "state.db"
    ruin(path, page_with(path, b"note-0150"))
    data = json.loads(shell("doctor", repo / "tickets.toml", "--repair", "--yes", "--json")[1])["repaired"]
    assert (data["torn"], data["tickets"], data["held"], data["rows"]["tickets"]) == (["events"], [], "", 3)
    data = json.loads(shell("doctor", repo / "tickets.toml", "--repair", "--yes", "--json")[1])
    assert data == {"repaired": None}


@pytest.mark.parametrize("act", ["--repair", "--accept-older"])
def test_a_mend_needs_somebody_who_wants_it(
    repo: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    path = repo / ".supervisor" / "state.db"
    _restore_older(repo)
    if act == "--repair":
        ruin(path, page_with(path, b"note-0150"))
    before = path.read_bytes()
    code, out, err = shell("doctor", repo / "tickets.toml", act)
    assert (code, out) == (2, "")
    assert f"give --yes with {act} if you are sure" in err
    stdin = io.StringIO("n\n")
    monkeypatch.setattr(stdin, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", stdin)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    code, _, err = shell("doctor", repo / "tickets.toml", act)
    assert code == 1
    assert "nothing was changed" in err
    assert path.read_bytes() == before


@pytest.mark.parametrize("act", ["--repair", "--accept-older"])
def test_a_mend_is_refused_while_a_supervisor_runs(repo: Path, shell: Shell, act: str) -> None:
    _restore_older(repo)
    with BatchLock(repo / ".supervisor" / "lock"):
        code, _, err = shell("doctor", repo / "tickets.toml", act, "--yes")
    assert code == 2
    assert f"another supervisor (pid {os.getpid()}) is running" in err


def _restore_older(repo: Path) -> None:
    """Run an effect, then put the database of before back."""
    path = repo / ".supervisor" / "state.db"
    older = path.read_bytes()
    with closing(connect(path)) as db:
        settle(db, claim(db, epoch(db), op="later").record, S.DONE)
        _watermark(repo).advance(db)
    path.write_bytes(older)


def test_an_older_database_is_named_and_accepted_when_asked(repo: Path, look: Look, shell: Shell) -> None:
    code, out, _ = shell("doctor", repo / "tickets.toml", "--accept-older", "--yes")
    assert (code, out) == (0, "effects are not held: there is nothing to accept\n")
    assert "marks" not in look()
    _restore_older(repo)
    ((found, words),) = look()["marks"]
    assert found == "fault"
    assert words.startswith("this database is older than the one of")
    assert "doctor --accept-older" in words
    code, out, err = shell("doctor", repo / "tickets.toml", "--accept-older", "--yes")
    assert (code, out) == (0, "accepted: effects may run again from the next start on\n")
    assert "these may run again, whatever has become of them since: 001:granted, 001:not_done, 001:refused" in err
    assert "marks" not in look()


def test_a_ledger_that_was_changed(repo: Path, look: Look) -> None:
    with closing(connect(repo / ".supervisor" / "state.db")) as db:
        db.execute("DROP TRIGGER effect_log_fixed")
        db.execute("UPDATE effect_log SET reason = 'another' WHERE seq = 2")
    ((found, words),) = look()["ledger"]
    assert found == "fault"
    assert "log row 2 was changed" in words


def test_a_database_that_is_gone(repo: Path, look: Look, shell: Shell) -> None:
    (repo / ".supervisor" / "state.db").unlink()
    ((found, words),) = look()["database"]
    assert found == "fault"
    assert "the database is gone: put a backup in its place" in words
    assert shell("doctor", repo / "tickets.toml", "--accept-older", "--yes")[0] == 2
    assert shell("doctor", repo / "tickets.toml", "--repair", "--yes")[0] == 2


def test_a_supervisor_that_does_not_answer(repo: Path, look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "_ASK_S", 0.05)
    with BatchLock(repo / ".supervisor" / "lock"):
        found = look()
    assert found["lock"] == [("ok", f"a supervisor is running (pid {os.getpid()})")]
    assert found["socket"][0][0] == "fault"
    assert "agents" not in found


def test_an_agent_that_was_left_over(repo: Path, look: Look) -> None:
    assert look()["agents"] == [("ok", "none is left over")]
    with subprocess.Popen(["sleep", "600"]) as agent:
        try:
            _leave_attempt(repo / ".supervisor" / "state.db", agent.pid)
            ((found, words),) = look()["agents"]
        finally:
            agent.kill()
    assert found == "warn"
    assert words.startswith(f"left over and at work: pid {agent.pid}: start the supervisor")
    assert look()["agents"] == [("ok", "none is left over")]


def _leave_attempt(path: Path, pid: int) -> None:
    """Write an attempt of ticket 002 whose agent is a process."""
    who = identify(pid)
    with closing(connect(path)) as db:
        board = Board()
        for event in (
            ev.AttemptStarted("002", 3.0, 1, Mode.FRESH, "session-002"),
            ev.AttemptConnected("002", 4.0, 1, who.pid, who.start, who.boot_id),
        ):
            tx(db, append, event, board.preview(event))
            board.apply(event)


def test_names_that_would_draw_something_else(repo: Path, shell: Shell, tmp_path: Path) -> None:
    odd = tmp_path / "od\x1b[2Jd"
    odd.mkdir(mode=0o755)
    code, out, _ = shell("doctor", repo / "tickets.toml", "--state-dir", odd)
    assert code == 0
    assert "\x1b" not in out
    assert "␛[2J" in out


def test_versions_of_sqlite_that_damage_databases() -> None:
    bad = ["3.7.0", "3.40.1", "3.44.5", "3.45.0", "3.50.6", "3.51.2"]
    good = ["3.6.23", "3.44.6", "3.44.9", "3.50.7", "3.51.3", "3.53.4", "4.0.0"]
    assert [v for v in bad if not has_reset_bug(v)] == []
    assert [v for v in good if has_reset_bug(v)] == []


def test_a_backup_is_made_once(repo: Path, shell: Shell, tmp_path: Path) -> None:
    target = tmp_path / "backup"
    code, out, _ = shell("backup", target, "--file", repo / "tickets.toml")
    size = sum(p.stat().st_size for p in target.iterdir())
    assert (code, out) == (
        0,
        f"{target}: state.db, tickets.toml, {size:,} bytes, 0 conversations (1 not found), found whole\n",
    )
    code, out, err = shell("backup", target, "--file", repo / "tickets.toml")
    assert (code, out) == (2, "")
    assert "never writes over anything" in err


def test_a_backup_goes_into_the_state_directory_by_itself(repo: Path, shell: Shell) -> None:
    data = json.loads(shell("backup", "--file", repo / "tickets.toml", "--json")[1])
    assert Path(data["path"]).parent == repo / ".supervisor" / "backups"
    assert data["files"] == ["state.db", "tickets.toml"]


def test_a_backup_that_is_put_back_holds_effects_that_ran_since(repo: Path, shell: Shell, look: Look) -> None:
    shell("backup", repo.parent / "backup", "--file", repo / "tickets.toml")
    path = repo / ".supervisor" / "state.db"
    shutil.copyfile(repo.parent / "backup" / "state.db", path)
    assert "marks" not in look(), "nothing has run since"
    with closing(connect(path)) as db:
        settle(db, claim(db, epoch(db), op="later").record, S.DONE)
        _watermark(repo).advance(db)
    shutil.copyfile(repo.parent / "backup" / "state.db", path)
    assert look()["marks"][0][0] == "fault"


def test_a_backup_is_put_back_with_its_conversations(repo: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the batch's own configuration directory come back there, the user's where the user has none by now."""
    state_dir, backup, users = repo / ".supervisor", repo.parent / "backup", repo.parent / "users"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(users))
    with closing(connect(state_dir / "state.db")) as db:
        db.execute("UPDATE tickets SET session_id = 'mine', attempts = 1 WHERE id = '001'")
        db.execute("UPDATE tickets SET session_id = 'own', attempts = 1 WHERE id = '002'")
    for home, session in ((state_dir / "claude", "own"), (users, "mine")):
        (home / "projects" / "-place" / session / "subagents").mkdir(parents=True)
        (home / "projects" / "-place" / f"{session}.jsonl").write_text('{"a": 1}\n{"half')
        (home / "projects" / "-place" / session / "subagents" / "one.jsonl").write_text("{}\n")
    data = json.loads(shell("backup", backup, "--file", repo / "tickets.toml", "--json")[1])
    assert data["files"] == ["claude", "claude-user", "state.db", "tickets.toml"]
    assert (data["conversations"], data["conversations_missing"]) == (2, 0)
    code, _, err = shell("restore", backup, "--file", repo / "tickets.toml")
    assert code == 2
    assert "is not empty, and nothing is written over: move it away" in err
    moved = state_dir.rename(repo / "moved")
    shutil.rmtree(users)
    code, out, _ = shell("restore", backup, "--file", repo / "tickets.toml")
    assert (code, out) == (0, f"{state_dir}: restored, with 2 conversations; go on with `supervise run`\n")
    assert effects(state_dir / "state.db") == effects(moved / "state.db")
    assert state_dir.stat().st_mode & 0o777 == 0o700
    assert (state_dir / ".gitignore").read_text() == "*\n"
    for home, session in ((state_dir / "claude", "own"), (users, "mine")):
        place = home / "projects" / "-place"
        assert (place / f"{session}.jsonl").read_text() == '{"a": 1}\n', "what was being written is left out"
        assert (place / session / "subagents" / "one.jsonl").exists()


def test_conversations_may_be_left_out(repo: Path, shell: Shell, tmp_path: Path) -> None:
    data = json.loads(
        shell("backup", tmp_path / "b", "--file", repo / "tickets.toml", "--no-conversations", "--json")[1]
    )
    assert (data["conversations"], data["conversations_missing"]) == (0, 0)


def test_what_is_no_backup_is_not_restored(repo: Path, shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "nothing").mkdir()
    code, _, err = shell("restore", tmp_path / "nothing", "--state-dir", tmp_path / "new")
    assert code == 2
    assert "holds no backup" in err
    shell("backup", tmp_path / "b", "--file", repo / "tickets.toml")
    ruin(tmp_path / "b" / "state.db", page_with(tmp_path / "b" / "state.db", b"note-0150"))
    code, _, err = shell("restore", tmp_path / "b", "--state-dir", tmp_path / "new")
    assert (code, "is not whole" in err or "damaged" in err) == (2, True)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("command", ["doctor", "backup", "restore"])
def test_help_has_an_example_and_the_exit_codes(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command([command, "--help"]) == 0
    said = capsys.readouterr().out
    assert f"example:\n  supervise {command}" in said
    assert "exit codes:" in said
    assert max(map(len, said.splitlines())) <= 100

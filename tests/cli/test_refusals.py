"""What is missing is said in one line with its remedy, with exit code 2, and nothing is created."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from supervisor.cli import main, run_command
from supervisor.engine.lock import BatchLock, holder
from tests.e2e.stage import GIT, make_repo

if TYPE_CHECKING:
    from collections.abc import Callable

BATCH = '[[ticket]]\nid = "001"\nprompt = "Do it."\nmodel = "sonnet"\n'
ROOT = Path(__file__).parents[2]


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a batch, and a home without any login."""
    path = make_repo(tmp_path / "repo")
    (path / "tickets.toml").write_text(BATCH)
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return path


def _refused(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert run_command(argv) == 2
    streams = capsys.readouterr()
    assert streams.out == ""
    assert "Traceback" not in streams.err
    return streams.err


def test_no_key_and_no_login(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = _refused(capsys, "run", str(repo / "tickets.toml"), "--headless")
    assert said.startswith("supervise: no API key in the environment and no login: set ANTHROPIC_API_KEY")
    assert len(said.splitlines()) == 1
    assert not (repo / ".supervisor").exists()


def test_not_a_repository(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tickets.toml").write_text(BATCH)
    said = _refused(capsys, "run", str(tmp_path / "tickets.toml"))
    assert "is not a git repository: run `git init`" in said
    assert sorted(p.name for p in tmp_path.iterdir()) == ["tickets.toml"]


def test_no_commits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, env={**os.environ, **GIT}, check=True)
    (tmp_path / "tickets.toml").write_text(BATCH)
    assert "has no commits: commit your files" in _refused(capsys, "run", str(tmp_path / "tickets.toml"))


def test_no_git(repo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PATH", str(repo))
    assert "git is not installed: install git" in _refused(capsys, "run", str(repo / "tickets.toml"))


def test_no_cli(repo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    said = _refused(capsys, "run", str(repo / "tickets.toml"))
    assert "the Claude Code CLI is missing: reinstall" in said
    assert not (repo / ".supervisor").exists()


def test_a_state_directory_that_cannot_be_made(
    repo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not-a-key")
    said = _refused(capsys, "run", str(repo / "tickets.toml"), "--state-dir", str(repo / "hello.txt" / "state"))
    assert "cannot write the state directory" in said
    assert "--state-dir" in said


def test_a_second_supervisor_is_refused_with_the_firsts_pid(
    repo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not-a-key")
    (repo / ".supervisor").mkdir()
    with BatchLock(repo / ".supervisor" / "lock"):
        said = _refused(capsys, "run", str(repo / "tickets.toml"), "--headless")
    assert f"another supervisor (pid {os.getpid()}) is running" in said


def test_a_lock_file_of_a_dead_supervisor_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    hold = (
        "import sys, pathlib; from supervisor.engine.lock import BatchLock; "
        f"BatchLock(pathlib.Path({str(path)!r})).acquire(); print('held', flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", hold], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        found = holder(path)
        assert found is not None
        assert found.pid == process.pid
        process.kill()
        process.wait(10)
    assert holder(path) is None
    with BatchLock(path):
        found = holder(path)
        assert found is not None
        assert found.pid == os.getpid()


def test_root_and_bypass_permissions(
    repo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.delenv("IS_SANDBOX", raising=False)
    (repo / "tickets.toml").write_text(BATCH + 'permission_mode = "bypassPermissions"\n')
    assert "the CLI refuses bypassPermissions to root" in _refused(capsys, "run", str(repo / "tickets.toml"))


def test_every_fault_of_the_file_has_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "tickets.toml"
    file.write_text(BATCH.replace("model", "modle") + "budget_usd = -1\n")
    said = _refused(capsys, "check", str(file)).splitlines()
    assert len(said) == 2
    assert all(line.startswith(f"supervise: {file}: [[ticket]] 1") for line in said)
    assert 'did you mean "model"?' in said[0]


def test_a_batch_that_was_never_run_has_no_status(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "holds no batch: start one with `supervise run`" in _refused(capsys, "status", str(repo / "tickets.toml"))


@pytest.mark.parametrize("argv", [["--no-such-flag"], ["run", "a", "b"], ["status", "--state-dir"]])
def test_bad_usage(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(argv) == 2
    assert "usage: supervise" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["run", "rehearse", "check", "status"])
def test_help_has_an_example_and_the_exit_codes(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command([command, "--help"]) == 0
    said = capsys.readouterr().out
    assert f"example:\n  supervise {command}" in said or "example:\n  supervise rehearse" in said
    assert "exit codes:" in said


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["--version"]) == 0
    assert capsys.readouterr().out.startswith("supervise 0.")


def test_check_says_what_the_batch_holds(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["check", str(repo / "tickets.toml")]) == 0
    assert "001" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["check", "doctor"])
def test_the_file_is_named_either_way(repo: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    said = []
    for argv in (("--file", str(repo / "tickets.toml")), (str(repo / "tickets.toml"),)):
        code = run_command([command, *argv])
        said.append((code, capsys.readouterr().out))
    assert said[0] == said[1]
    assert "repo" in said[0][1]


def test_check_lists_the_commands(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repo / "tickets.toml").write_text(BATCH + 'setup = "make deps"\nverify = "make test"\nbase = "HEAD~0"\n')
    assert run_command(["check", str(repo / "tickets.toml")]) == 0
    assert "from HEAD~0; setup make deps; verify make test" in capsys.readouterr().out


def test_check_names_a_repository_that_is_none_as_run_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tickets.toml").write_text(BATCH)
    said = _refused(capsys, "check", str(tmp_path / "tickets.toml"))
    assert said == _refused(capsys, "run", str(tmp_path / "tickets.toml"))
    assert "is not a git repository: run `git init`" in said


def test_check_names_every_base_that_is_none(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    second = BATCH.replace("001", "002") + 'base = "gone"\n'
    third = BATCH.replace("001", "003") + 'base = "supervise/repo/002"\n'
    (repo / "tickets.toml").write_text('[batch]\nname = "repo"\nbase = "nosuchref"\n' + BATCH + second + third)
    told = "names no commit: name a branch, tag or commit of the repository"
    assert _refused(capsys, "check", str(repo / "tickets.toml")).splitlines() == [
        f"supervise: base 'nosuchref' {told}",
        f"supervise: 002: base 'gone' {told}",
    ]


def test_help_of_check_has_its_own_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    run_command(["check", "--help"])
    said = capsys.readouterr().out
    assert "0  nothing is wrong" in said
    assert "some tickets failed" not in said


@pytest.mark.parametrize(
    ("typed", "meant"), [("chekc", "check"), ("staus", "status"), ("Report", "report"), ("intterupt", "interrupt")]
)
def test_a_misspelt_command_gets_a_suggestion(typed: str, meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    for more in ((), ("003",), ("--json",)):
        said = _refused(capsys, typed, *more)
        assert said == f'supervise: {typed}: no such command, and no such file: did you mean "supervise {meant}"?\n'


def test_a_file_that_is_called_like_a_command_is_run(
    repo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (repo / "chekc").write_text(BATCH)
    monkeypatch.chdir(repo)
    assert _refused(capsys, "chekc").startswith("supervise: no API key")
    assert _refused(capsys, "nowhere.toml") == "supervise: nowhere.toml: no such file\n"


@pytest.fixture
def modules() -> Callable[[str], set[str]]:
    """The modules that are loaded after some code has run in a fresh interpreter."""

    def after(code: str) -> set[str]:
        listing = f"{code}\nimport sys; print('\\n'.join(sys.modules))"
        done = subprocess.run([sys.executable, "-c", listing], cwd=ROOT, capture_output=True, text=True, check=True)
        return set(done.stdout.split())

    return after


def test_light_commands_load_neither_the_sdk_nor_the_screen(modules: Callable[[str], set[str]], repo: Path) -> None:
    loaded = modules(f"from supervisor.cli import run_command; run_command(['check', {str(repo / 'tickets.toml')!r}])")
    assert not loaded & {"claude_agent_sdk", "textual", "rich", "sqlite_utils", "uvicorn"}


def test_the_engine_loads_the_sdk_only_in_a_session(modules: Callable[[str], set[str]]) -> None:
    loaded = modules("import supervisor.engine.batch, supervisor.headless, supervisor.run")
    assert not loaded & {"claude_agent_sdk", "textual", "rich"}


@pytest.mark.parametrize(("argv", "code"), [(("check",), 141), (("--help",), 0)], ids=["says", "help"])
def test_a_reader_that_has_gone_away_is_left_in_peace(repo: Path, argv: tuple[str, ...], code: int) -> None:
    """As ``| head`` does. What would be said at the very end of Python is not said either."""
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "supervisor", *argv]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=repo, stdout=write, stderr=subprocess.PIPE, text=True, env=env)
    os.close(write)
    assert (done.returncode, done.stderr) == (code, "")


def test_an_interrupt_before_a_batch_listens_for_signals(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("supervisor.cli.batch._check", interrupted)
    with pytest.raises(SystemExit) as left:
        main(["check", str(repo / "tickets.toml")])
    assert left.value.code == 130

"""What a run without a screen says beside its tickets: what a rehearsal leaves out, and that nothing was left to do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.stage import make_repo
from tests.e2e.terminal import Terminal, wait_until

pytestmark = [pytest.mark.cli, pytest.mark.timeout(120)]
ROOT = Path(__file__).parents[2]
FILE = """\
[[ticket]]
id = "001"
prompt = "Do it."
setup = "touch set-up"
verify = "touch checked"
effects = ["post"]
[effects.post]
kind = "once"
description = "Post."
command = ["true"]
"""
LEFT_OUT = (
    "rehearsal: setup and verify commands are not run (--run-commands runs them); effect commands are recorded, not run"
)


def test_a_rehearsal_says_once_what_it_leaves_out_and_in_the_end_what_is_left(tmp_path: Path) -> None:
    repo, home = make_repo(tmp_path / "repo"), tmp_path / "kept"
    (repo / "tickets.toml").write_text(FILE)
    argv = ["rehearse", str(repo / "tickets.toml"), "--state-dir", str(home)]
    first = _lines(*argv, "--headless")
    assert [LEFT_OUT in line for line in first] == [True] + [False] * (len(first) - 1)
    assert first[-1].split()[1:3] == ["001", "done"], "no counts: what became of it was told"
    assert not list(home.rglob("checked")) and not list(home.rglob("set-up"))
    again = [json.loads(line) for line in _lines(*argv, "--json")]
    assert again[0] == {"notice": LEFT_OUT}
    assert again[-1]["notice"].startswith("1 ticket: 1 done; $0.")
    assert "start again" not in again[-1]["notice"]


def test_a_screen_says_it_too(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    (repo / "tickets.toml").write_text(FILE)
    argv = [sys.executable, "-m", "supervisor", "rehearse", str(repo / "tickets.toml")]
    terminal = Terminal(argv, ROOT, dict(os.environ))
    try:
        wait_until(lambda: b"rehearsal: setup and verify commands" in terminal.output)
        terminal.keys("q\r")
        assert terminal.wait(60) in (0, 130)
        told = terminal.output.rpartition(b"\x1b[?1049l")[2].decode()
        assert "1 ticket: 1 " in told
        assert "start again" not in told, "nothing of it was kept"
    finally:
        terminal.close()


def _lines(*argv: str) -> list[str]:
    command = [sys.executable, "-m", "supervisor", *argv]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()

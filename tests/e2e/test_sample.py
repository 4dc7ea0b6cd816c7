"""The sample batch, as a newcomer starts it: every ticket reaches the ending that its comment promises."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.cli, pytest.mark.timeout(240)]
ROOT = Path(__file__).parents[2]
ENDINGS = {
    "001-rounding": ("done", None, "completed"),
    "002-search": ("done", None, "completed"),
    "003-tax": ("done", None, "completed"),
    "004-export": ("done", None, "completed"),
    "005-cart": ("done", None, "completed"),
    "006-shipping": ("needs_you", "limit", "max_turns"),
    "007-invoice": ("needs_you", "limit", "budget_exhausted"),
    "008-docs": ("failed", None, "api_error"),
    "009-markup": ("done", None, "completed"),
    "010-slugs": ("done", None, "completed"),
    "011-look": ("done", None, "completed"),
    "012-deploy": ("needs_you", "unresolved_effect", None),
    "013-release": ("needs_you", "approve_effect", None),
    "014-clean": ("needs_you", "approve_tool", None),
    "015-help": ("needs_you", "question", None),
}


def _run(*argv: str, code: int) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "supervisor", *argv], cwd=ROOT, capture_output=True, text=True, timeout=170
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert done.stderr == ""
    return done.stdout


def test_every_ticket_ends_as_its_script_intends(tmp_path: Path) -> None:
    home = tmp_path / "kept"
    printed = _run("rehearse", "--json", "--state-dir", str(home), code=3)
    lines = [json.loads(line) for line in printed.splitlines()]
    last = {line["ticket"]: line["state"] for line in lines if "ticket" in line}
    where = (str(home / "tinyshop" / "tickets.toml"), "--state-dir", str(home / ".supervisor"))
    status = json.loads(_run("status", *where, "--json", code=0))
    assert last == {t["id"]: t["state"] for t in status["tickets"]}
    found = {t["id"]: (t["state"], t["why"], t["terminal_reason"]) for t in status["tickets"]}
    for ident, (state, why, reason) in ENDINGS.items():
        assert found[ident][:2] == (state, why), ident
        assert reason is None or found[ident][2] == reason, ident
    assert status["running"] is False
    assert status["spent_usd"] == pytest.approx(sum(t["cost_usd"] for t in status["tickets"]), abs=1e-5)
    assert {e["key"]: e["state"] for e in status["effects"]} == {
        "002-search:pr-comment": "done",
        "012-deploy:deploy:staging-418": "unresolved",
        "013-release:tag-release": "requested",
    }
    assert all(t["branch"] == f"supervise/tinyshop/{t['id']}" for t in status["tickets"])

"""Records what the real CLI keeps of a session: ``python -m tests.recorded.record_session``.

``sessions/projects/-ticket/<session id>.jsonl`` and the file of its subagent below it, as the CLI wrote them, without
places of the machine. Records of requests are cut to a few hundred characters: they are most of a file, and what is in
them does not matter here. Needs no key and no network.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

import anyio

from supervisor.rehearsal.harness import RehearsalServer
from tests.recorded.record import Stage

SESSIONS = Path(__file__).parent / "sessions"
CASE = "session"
_EDIT = {"file_path": "new.txt", "old_string": "one", "new_string": "one\nand a half"}
STEPS: list[dict[str, Any]] = [
    {"text": "I **delegate**.", "tool": "Task", "input": {"description": "look", "prompt": "Find callers."}},
    {"status": 529, "times": 1},
    {"thinking": "Let me see.", "text": "I look.", "tool": "Bash", "input": {"command": "echo hi; exit 3"}},
    {"tool": "Write", "input": {"file_path": "new.txt", "content": "one\ntwo\n"}},
    {"tool": "Edit", "input": _EDIT},
    {"tool": "Read", "input": {"file_path": "new.txt"}},
    {"text": "All done."},
]
_MOST = 600


def _written(path: Path, root: Path) -> str:
    """Return a file's lines without the places of this machine, records of requests cut."""
    encoded = re.sub(r"[^A-Za-z0-9]", "-", str(root))
    lines = []
    for raw in path.read_text("utf-8").splitlines():
        line = json.loads(raw)
        if line["type"].startswith("api-request") or line["type"] == "attachment":
            line = {k: v for k, v in line.items() if len(json.dumps(v)) < _MOST}
        told = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
        lines.append(told.replace(str(root), "/ticket").replace(encoded, "-ticket"))
    return "\n".join(lines) + "\n"


async def main() -> None:
    """Run the session and keep its files."""
    with tempfile.TemporaryDirectory(prefix="recorded-") as made:
        root = Path(made).resolve()
        (root / "work").mkdir()
        (root / "home").mkdir()
        async with RehearsalServer(root, {CASE: STEPS}) as server:
            recording = await Stage(root, server).ask(CASE)
        (found,) = (root / "home/.claude/projects").glob(f"*/{recording.session_id}.jsonl")
        target = SESSIONS / "projects/-ticket"
        shutil.rmtree(SESSIONS, ignore_errors=True)
        for path in (found, *found.with_suffix("").glob("subagents/*.jsonl")):
            kept = target / path.relative_to(found.parent)
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(_written(path, root), "utf-8")


if __name__ == "__main__":
    for name in [n for n in os.environ if n.startswith(("ANTHROPIC", "CLAUDE"))]:
        del os.environ[name]
    anyio.run(main)

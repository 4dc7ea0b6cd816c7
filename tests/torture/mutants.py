"""``python -m tests.torture mutants``: plant known faults into copies of the tree, and see that each one is caught.

A test that has never failed proves nothing. Exit 1 when a mutant survives, or cannot be planted any more because the
code it changes has moved on.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 300.0


@dataclass(frozen=True, slots=True)
class Mutant:
    """One fault: in one file, each old text, found exactly once, becomes the new one."""

    name: str
    file: str
    changes: tuple[tuple[str, str], ...]
    torture: tuple[str, ...]
    """The phase of the torture that must catch it; empty where only the tests can."""


KILLS = ("--only", "kills", "--seconds", "20")
NO_MUTANT = Mutant("nothing planted", "supervisor/store/ledger.py", (), ("--seconds", "5", "--step", "40"))
"""Must survive, or being caught means nothing."""
MUTANTS = (
    Mutant(
        "settle without the epoch check",
        "supervisor/store/effect_rows.py",
        ((" AND epoch IS :_epoch", ""),),
        (),
    ),
    Mutant(
        "settle without epoch and version",
        "supervisor/store/effect_rows.py",
        ((" AND version = :_version AND state = :_from AND epoch IS :_epoch", " AND state = :_from"),),
        (),
    ),
    Mutant(
        "effect before the claim's commit",
        "supervisor/store/effect_log.py",
        (
            (
                'self._db.execute("BEGIN IMMEDIATE")',
                'self._db.conn.in_transaction or self._db.execute("BEGIN IMMEDIATE")',
            ),
            ("self._db.commit()", 'getattr(result, "answer", None) == "mine" or self._db.commit()'),
        ),
        KILLS,
    ),
    Mutant(
        "claims freed on restart",
        "supervisor/store/claims.py",
        (("effect_rows.move(db, held, EffectState.UNRESOLVED,", "effect_rows.move(db, held, EffectState.REFUSED,"),),
        KILLS,
    ),
    Mutant(
        "claims freed by the clock",
        "supervisor/store/claims.py",
        (
            (
                "held.owner is None or not is_dead(held.owner)",
                "held.owner is None or not (is_dead(held.owner) or at > (held.claimed_at or at) + 0.005)",
            ),
        ),
        KILLS,
    ),
    Mutant(
        "synchronous=OFF",
        "supervisor/store/database.py",
        (("PRAGMA synchronous = FULL", "PRAGMA synchronous = OFF"),),
        ("--only", "powercut", "--step", "8"),
    ),
)

TESTS = (
    "tests/core/test_effects.py",
    "tests/store/test_ledger.py",
    "tests/store/test_ledger_tables.py",
    "tests/store/test_ledger_front.py",
    "tests/store/test_effect_log.py",
    "tests/store/test_effect_log_async.py",
    "tests/store/test_owner.py",
    "tests/store/test_ledger_machine.py",
)


def main(arguments: list[str]) -> int:
    """Plant each mutant, run the tests and the torture over it, and print who caught it."""
    parser = argparse.ArgumentParser(prog="python -m tests.torture mutants", description=__doc__)
    parser.add_argument("--only", help="a part of a mutant's name")
    only = parser.parse_args(arguments).only
    print(f"{'mutant':34} {'tests':>14} {'torture':>14}")
    if "caught" in "".join(_tried(NO_MUTANT)):
        print("the tree fails without any mutant")
        return 1
    chosen = [mutant for mutant in MUTANTS if only is None or only in mutant.name]
    survived = sum(any("caught" not in said for said in _tried(mutant)) for mutant in chosen)
    print("every mutant was caught" if not survived else f"{survived} SURVIVED")
    return 1 if survived else 0


def _tried(mutant: Mutant) -> list[str]:
    """Return what each of those that should catch a mutant says of it."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        copy = Path(folder) / "tree"
        ignore = shutil.ignore_patterns("__pycache__", ".*")
        for name in ("supervisor", "widgets", "tests"):
            shutil.copytree(ROOT / name, copy / name, ignore=ignore)
        shutil.copy(ROOT / "pyproject.toml", copy)
        if not _plant(copy / mutant.file, mutant):
            print(f"{mutant.name:34} cannot be planted: the code has changed", flush=True)
            return ["not planted"]
        said = [_caught(copy, ["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *TESTS])]
        if mutant.torture:
            said.append(_caught(copy, ["-m", "tests.torture", "effects", *mutant.torture]))
    print(f"{mutant.name:34} {said[0]:>14} {said[-1] if mutant.torture else '-':>14}", flush=True)
    return said


def _plant(file: Path, mutant: Mutant) -> bool:
    text = file.read_text()
    for old, new in mutant.changes:
        if text.count(old) != 1:
            return False
        text = text.replace(old, new)
    file.write_text(text)
    return True


def _caught(copy: Path, arguments: list[str]) -> str:
    """Run Python over the copy; return after how long it failed, or that it did not."""
    began = time.monotonic()
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    with subprocess.Popen(
        [sys.executable, *arguments], cwd=copy, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as child:
        try:
            child.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
    seconds = f"{time.monotonic() - began:.0f} s"
    return f"caught, {seconds}" if child.returncode != 0 else f"passed, {seconds}"

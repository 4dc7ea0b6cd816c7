"""Runs a tortured batch in one supervisor after another, and kills whatever is alive until its time is up."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from supervisor.engine.batch import make_state_dir
from supervisor.engine.process import identify
from tests.e2e.stage import GIT, make_repo
from tests.torture.batching import scenario, targets
from tests.torture.batching.checks import Books, check
from tests.torture.batching.operating import Operator

if TYPE_CHECKING:
    from supervisor.engine.process import ProcessId

ROOT = Path(__file__).resolve().parents[3]
_KILL, _TERM, _STOP, _CONT = signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP, signal.SIGCONT
HURTS: dict[str, tuple[float, dict[signal.Signals, int]]] = {
    "supervisor": (1.5, {_KILL: 5, _TERM: 2, signal.SIGINT: 1, signal.SIGHUP: 1, _STOP: 2}),
    "agent": (4, {_KILL: 4, _TERM: 2, _STOP: 2}),
    "effect": (12, {_KILL: 4, _TERM: 1, _STOP: 2}),
    "command": (10, {_KILL: 2, _TERM: 1, _STOP: 1}),
    "server": (1, {_KILL: 2, _TERM: 1, _STOP: 1}),
}
"""For each kind of process how likely it is hit where there is one, and what hits it how often."""
DELICATE: dict[str, set[str]] = {"supervisor": {"effect", "git", "check"}, "agent": {"command"}}
"""While one of these is at work, that one is hit more often: what it leaves behind is what is looked for."""
_MORE = 5
END_CODES = (0, 1, 3)
"""How a supervisor ends by itself."""
_FROZEN_S = 2.5
_STUCK_S = 90.0
"""A supervisor that prints nothing and serves nothing for so long is stuck."""
_STOP_S = 25.0
"""How long one that was told to stop may take."""
_ORPHAN_S = 5.0
"""So long a command may go on after its agent has died, while the supervisor could see to it."""
_TICK_S = 0.02
_CALMER_S = 60.0
"""In so long the mean time between two hits grows by what it was: on a slow machine too a batch comes to its end."""


@dataclass
class Report:
    """What one batch went through."""

    lives: int = 0
    """Supervisors that were started."""
    hits: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By kind of process and signal."""
    seconds: float = 0.0
    books: Books = field(default_factory=Books)
    operator: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)


class Harness:
    """One batch from its first start to its end."""

    def __init__(self, home: Path, seed: int, tickets: int, gap_s: float) -> None:
        """Prepare a batch in an empty directory; ``gap_s`` is the mean time between two hits in the beginning."""
        self._home = home
        self._seed = seed
        self._tickets = tickets
        self._gap_s = gap_s
        self._chance = random.Random(seed)
        self._mark = str(uuid.uuid4())
        self._scenario = scenario.make(home, seed, tickets)
        self._port = 0
        self._server: subprocess.Popen[bytes] | None = None
        self._supervisor: subprocess.Popen[bytes] | None = None
        self._sent: list[signal.Signals] = []
        """What has told the supervisor to end, the first one first."""
        self._sent_at = 0.0
        self._frozen: list[tuple[float, ProcessId, bool]] = []
        """Until when, who, and whether with its group."""
        self._old: list[targets.Found] = []
        """What was alive of earlier supervisors when this one was started."""
        self._lone: dict[ProcessId, float] = {}
        """Commands without an agent, and since when they are seen so."""
        self._next_look = 0.0
        self._gap = threading.Event()
        self._begun = 0.0
        self.report = Report()

    def play(self, seconds: float) -> Report:
        """Kill for so many seconds, then let the batch end; return what came of it."""
        self._begun = time.monotonic()
        self._prepare()
        operator = Operator(self._home, self._seed)
        operator.start()
        try:
            self._live_on(self._begun + seconds, operator)
        finally:
            operator.stop()
            self._end()
        self.report.violations += operator.faults
        self.report.operator = operator.decided + Counter({f"refused: {k}": n for k, n in operator.refused.items()})
        self.report.seconds = time.monotonic() - self._begun
        self.report.books, found = check(self._home, self._scenario)
        self.report.violations += found
        return self.report

    # Setting up and tearing down

    def _prepare(self) -> None:
        make_repo(self._home / "repo")
        make_state_dir(self._home / "state")
        for name in ("api", "home", "claude", "lives", "xdg"):
            (self._home / name).mkdir()
        scenario.write(self._home)
        (self._home / "api" / "scripts.json").write_text(json.dumps(self._scenario.scripts))
        self._serve()

    def _serve(self) -> None:
        api = self._home / "api"
        argv = [sys.executable, "-P", "-m", "supervisor.rehearsal.server", "--scripts", str(api / "scripts.json")]
        argv += ["--log", str(api / "served.jsonl"), "--port", str(self._port), "--parent", str(os.getpid())]
        with (api / "server.err").open("ab") as errors:
            env = {**os.environ, "PYTHONPATH": str(ROOT)}
            self._server = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=errors, env=env, cwd=self._home)
        assert self._server.stdout is not None
        with self._server.stdout as said:
            self._port = int(json.loads(said.readline())["port"])

    def _start(self) -> subprocess.Popen[bytes]:
        self.report.lives += 1
        self._sent = []
        self._lone.clear()
        self._old = [one for one in targets.find(self._mark) if one.kind not in ("effect", "helper")]
        argv = [sys.executable, "-m", "tests.torture.batching.driver", str(self._home)]
        argv += [str(self._seed), str(self._tickets), str(self._port)]
        more = {scenario.MARK: self._mark, "XDG_STATE_HOME": str(self._home / "xdg"), "PYTHONPATH": str(ROOT)}
        env = {k: v for k, v in os.environ.items() if not k.startswith(("ANTHROPIC", "CLAUDE"))}
        with self._said.open("wb") as out, self._said.with_suffix(".err").open("wb") as errors:
            return subprocess.Popen(
                argv, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=out, stderr=errors, env={**env, **GIT, **more}
            )

    @property
    def _said(self) -> Path:
        """What the supervisor prints."""
        return self._home / "lives" / f"{self.report.lives:04}.out"

    def _end(self) -> None:
        for _, process, together in self._frozen:
            targets.send(process, _CONT, group=together)
        for ours in (self._supervisor, self._server):
            if ours is not None and ours.poll() is None:
                ours.kill()
                ours.wait()

    # One life after the other

    def _live_on(self, end: float, operator: Operator) -> None:
        while True:
            self._supervisor = self._start()
            self._live(self._supervisor, end)
            code = self._supervisor.wait()
            self._judge(code)
            waiting = 0
            if code in END_CODES or self._chance.random() < 0.3:
                waiting = operator.settle_offline()
            if code in END_CODES and not waiting:
                self._look_for_orphans("the end")
                return
            self._gap.wait(self._chance.random() * 0.3)

    def _live(self, supervisor: subprocess.Popen[bytes], end: float) -> None:
        """Hurt until the supervisor has ended."""
        next_hit = self._next_hit()
        seen, since, looked = (-1, -1), time.monotonic(), False
        while supervisor.poll() is None:
            now = time.monotonic()
            self._thaw(now)
            if now < end and now >= next_hit:
                self._hit(supervisor)
                next_hit = self._next_hit()
            if not looked and self._said.stat().st_size:
                looked = True
                self._look_for_survivors()
            size = (self._said.stat().st_size, self._served_size())
            if size != seen:
                seen, since = size, now
            if now - since > _STUCK_S and not self._frozen:
                self._give_up(supervisor, "it is stuck")
            if self._sent and now - self._sent_at > _STOP_S and not self._frozen:
                self._give_up(supervisor, f"{self._names()} did not end it in {_STOP_S:g} s")
            if looked:
                self._look_for_lone_commands(now)
            self._gap.wait(_TICK_S)

    def _next_hit(self) -> float:
        now = time.monotonic()
        return now + self._chance.expovariate(1 / self._gap_s) * (1 + (now - self._begun) / _CALMER_S)

    def _served_size(self) -> int:
        path = self._home / "api" / "served.jsonl"
        return path.stat().st_size if path.exists() else 0

    def _give_up(self, supervisor: subprocess.Popen[bytes], why: str) -> None:
        alive = "; ".join(map(str, targets.find(self._mark)))
        said = " | ".join(self._said.read_text(errors="replace").splitlines()[-6:])
        self.report.violations.append(f"life {self.report.lives}: {why}. Alive: {alive}. It said last: {said}")
        self._sent.append(_KILL)
        supervisor.kill()
        supervisor.wait()

    def _thaw(self, now: float) -> None:
        for one in [one for one in self._frozen if one[0] <= now]:
            self._frozen.remove(one)
            targets.send(one[1], _CONT, group=one[2])
        if self._server is not None and self._server.poll() is not None:
            self._serve()

    def _hit(self, supervisor: subprocess.Popen[bytes]) -> None:
        """Send something to one of the processes that are alive."""
        found = targets.find(self._mark)
        alive: dict[str, list[ProcessId]] = {"supervisor": [identify(supervisor.pid)]}
        for one in found:
            if one.kind in HURTS:
                alive.setdefault(one.kind, []).append(one.process)
        if self._server is not None and self._server.poll() is None:
            alive["server"] = [identify(self._server.pid)]
        there = {one.kind for one in found}
        weights = {kind: HURTS[kind][0] * (_MORE if there & DELICATE.get(kind, set()) else 1) for kind in alive}
        kind = self._chance.choices(list(alive), list(weights.values()))[0]
        signals = HURTS[kind][1]
        number = self._chance.choices(list(signals), list(signals.values()))[0]
        process = self._chance.choice(alive[kind])
        # A shell that alone is killed leaves what it ran to itself, and its agent goes on: nobody's fault but ours.
        together = kind == "command"
        if not targets.send(process, number, group=together):
            return
        self.report.hits[kind, number.name] += 1
        if number is _STOP:
            self._frozen.append((time.monotonic() + self._chance.random() * _FROZEN_S, process, together))
        elif kind == "supervisor":
            self._sent.append(number)
            self._sent_at = time.monotonic()

    # What must hold on the way

    def _judge(self, code: int) -> None:
        """Check how a supervisor has ended, and that it has left nobody behind if it was let end."""
        sent = self._sent
        # The first one counts; of those that wait together, as for a frozen process, Python hears the lowest first.
        first = [number for number in sent if number <= sent[0]]
        if -code not in sent and code not in END_CODES and code - 128 not in first:
            self.report.violations.append(f"life {self.report.lives}: exit code {code} after {self._names()}")
        errors = self._said.with_suffix(".err").read_text(errors="replace")
        if errors and not (signal.SIGINT in sent and errors.endswith("KeyboardInterrupt\n")):  # it was not up yet
            self.report.violations.append(f"life {self.report.lives} wrote: {errors[-1500:]}")
        if code >= 0:
            self._look_for_orphans(f"life {self.report.lives}, exit code {code}")

    def _names(self) -> str:
        return ", ".join(number.name for number in self._sent) or "nothing"

    def _look_for_orphans(self, when: str) -> None:
        """Effects are let run to their end, whoever has died: what they do is not known before."""
        for one in targets.find(self._mark):
            if one.kind not in ("effect", "helper"):
                self.report.violations.append(f"{when}: left behind: {one}")

    def _look_for_lone_commands(self, now: float) -> None:
        """A command whose agent is dead has to be ended by the supervisor that saw it die."""
        if now < self._next_look:
            return
        self._next_look = now + 1.0
        if any(process.pid == getattr(self._supervisor, "pid", 0) for _, process, _ in self._frozen):
            self._lone.clear()
            return
        lone = {one.process: one for one in targets.lone_commands(self._mark)}
        self._lone = {process: self._lone.get(process, now) for process in lone}
        for process, since in self._lone.items():
            if now - since > _ORPHAN_S:
                self.report.violations.append(f"life {self.report.lives}: its agent is dead: {lone[process]}")
                targets.send(process, _KILL)

    def _look_for_survivors(self) -> None:
        """The supervisor has said something: by then whatever an earlier one has left must be gone."""
        alive = {one.process for one in targets.find(self._mark)}
        for one in self._old:
            if one.process in alive:
                self.report.violations.append(f"life {self.report.lives}: of an earlier one is alive: {one}")

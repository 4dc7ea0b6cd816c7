"""The operator of a tortured batch: looks at the world, and says truthfully what has become of each stuck effect."""

from __future__ import annotations

import random
import threading
import traceback
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from supervisor.cli.common import request
from supervisor.control_client import ask
from supervisor.core.errors import SupervisorError
from tests.torture.batching import scenario

if TYPE_CHECKING:
    from pathlib import Path

_LOOK_S = 0.4
_ASK_S = 3.0


def world(home: Path) -> Counter[str]:
    """Return how often each effect, by its key in the ledger, was applied."""
    path = home / scenario.WORLD
    lines = path.read_text().splitlines() if path.exists() else []
    return Counter(scenario.op(line.split(" ")) for line in lines)


class Operator:
    """Settles effects: from another shell while a supervisor runs, in a thread; and on demand while none does."""

    def __init__(self, home: Path, seed: int) -> None:
        self._home = home
        self._state_dir = home / "state"
        self._chance = random.Random(seed)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.decided: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.faults: list[str] = []

    def start(self) -> None:
        """Begin to look after the running supervisor."""
        self._thread.start()

    def stop(self) -> None:
        """Stop looking."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._stop.wait(_LOOK_S * self._chance.uniform(0.5, 1.5)):
                with suppress(SupervisorError, OSError):  # it may be stopped, dead, or just starting
                    for effect in self._waiting(ask(self._state_dir, {"do": "status"}, _ASK_S)):
                        self._decide(effect, lambda what: ask(self._state_dir, what, _ASK_S))
        except Exception:
            self.faults.append(f"the operator fell: {traceback.format_exc()}")

    def settle_offline(self) -> int:
        """Settle everything while no supervisor runs; return how many effects are not over, or were not.

        The command of a dead supervisor may still be at it: nothing can be said of its effect before it has ended.
        """
        if not (self._state_dir / "state.db").exists():
            return 0  # the first supervisor did not get that far
        reply = request(self._state_dir, {"do": "status"})
        waiting = self._waiting(reply)
        for effect in waiting:
            self._decide(effect, lambda what: request(self._state_dir, what))
        claimed = [effect for effect in reply["effects"] if effect["state"] == "claimed"]
        return len(waiting) + len(claimed)

    def _waiting(self, reply: dict[str, Any] | None) -> list[dict[str, Any]]:
        effects = (reply or {}).get("effects", [])
        return [e for e in effects if e["state"] in ("unresolved", "requested") and not e["busy"]]

    def _decide(self, effect: dict[str, Any], send: Any) -> None:
        verb = self._verb(effect)
        told = {"why": "looked at the world", "version": effect["version"], "actor": "torture"}
        more = {"outcome": "seen in the world"} if verb == "done" else {}
        reply = send({"do": "ruling", "verb": verb, "key": effect["key"], **told, **more})
        if reply is None or "error" in reply:
            self.refused[(reply or {}).get("kind", "nobody")] += 1
        else:
            self.decided[verb] += 1

    def _verb(self, effect: dict[str, Any]) -> str:
        if effect["state"] == "requested":
            return self._chance.choices(("approve", "deny"), (4, 1))[0]
        if world(self._home)[effect["key"]]:
            return "done"
        return self._chance.choices(("once_more", "not_done", "abandon"), (6, 2, 1))[0]

"""The batch that is tortured: made from a seed, the same in the harness and in each of its supervisors.

Effects are commands that append to a file, which stands for the rest of the world. It keeps what was done, whatever is
killed, and dedupes by our key where an effect's kind says that the other system does.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from supervisor.core.model import State
from supervisor.core.spec import BatchSpec, EffectSpec, TicketSpec

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from supervisor.core.spec import EffectKind

MARK = "TORTURE"
"""Name of the variable that all processes of a round have, by which none is missed."""
WORLD, CALLS = "world", "calls"
"""Files: what was applied, and each call of a command."""
_SCRIPT = """\
#!/bin/sh
# effect.sh NAME KIND FATE
payload=$(cat) || exit 65
line="$SUPERVISOR_TICKET $1 $payload $SUPERVISOR_EFFECT_KEY"
cd "${0%/*}" || exit 65
grep -qF "$line" calls 2>/dev/null && again=yes
echo "$line" >>calls
test "$3" = refused && exit 65
test "$3" = never -a -z "$again" && exit 1
sleep 0.5
if test "$2" != keyed || ! grep -qF "$line" world 2>/dev/null; then
  echo "$line" >>world
fi
sleep 0.5
test "$3" = unsaid -a -z "$again" && exit 1
echo "applied $1"
"""
_EFFECTS: dict[str, tuple[EffectKind, str]] = {
    "post": ("once", "plain"),
    "lose": ("once", "never"),
    "hide": ("once", "unsaid"),
    "refuse": ("once", "refused"),
    "ask": ("once", "plain"),
    "put": ("keyed", "plain"),
    "note": ("idempotent", "plain"),
}
"""By name, the kind of each effect and what becomes of its first call."""
ASKS = "ask"
"""The effect that needs the operator's approval."""
_CALLS = 3
"""How often the agent calls each effect: a grant is used by the next call, and a repetition must do nothing."""
_Files = dict[str, tuple[str, int | None]]
_BRIEF = {"delay_s": 0.05, "chunk_s": 0.0}


@dataclass(frozen=True, slots=True)
class Scenario:
    """One batch, and what must come of it."""

    spec: BatchSpec
    scripts: dict[str, list[dict[str, Any]]]
    ends: dict[str, State]
    """How each ticket must end."""
    files: dict[str, dict[str, tuple[str, int | None]]] = field(default_factory=dict)
    """By ticket, the files that must be left, what they hold, and which step writes them: None for the setup."""


def make(home: Path, seed: int, tickets: int) -> Scenario:
    """Make the batch that lives in ``home``, whose repository is ``home / "repo"``."""
    chance = random.Random(seed)
    made = [_ticket(chance, f"{number:03}") for number in range(1, tickets + 1)]
    specs = [spec for spec, _, _ in made]
    effects = {name: _effect(home, name) for name in _EFFECTS}
    repo = home / "repo"
    batch = BatchSpec("torture", repo / "tickets.toml", repo, tuple(specs), effects, slots=4, max_retries=1)
    scripts = {spec.id: steps for spec, steps, _ in made}
    ends = {spec.id: State.FAILED if "status" in steps[-1] else State.DONE for spec, steps, _ in made}
    return Scenario(batch, scripts, ends, {spec.id: files for spec, _, files in made})


def write(home: Path) -> None:
    """Write the command of the effects."""
    (home / "effect.sh").write_text(_SCRIPT)


def _effect(home: Path, name: str) -> EffectSpec:
    kind, fate = _EFFECTS[name]
    return EffectSpec(
        name,
        kind,
        "Change the world.",
        {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
        ("sh", str(home / "effect.sh"), name, kind, fate),
        key="{n}",
        approval="always" if name == ASKS else "never",
        window_s=86_400.0 if kind == "keyed" else None,
        timeout_s=20.0,
        env=(MARK,),
    )


def _ticket(chance: random.Random, ident: str) -> tuple[TicketSpec, list[dict[str, Any]], _Files]:
    """Return a ticket, what its agent does, and the files it leaves."""
    files: _Files = {}
    steps: list[dict[str, Any]] = []
    for number in range(chance.randint(2, 4)):
        kind = chance.choices((_write, _bash, _call), (2, 3, 4))[0]
        steps += kind(chance, number)
        if kind is _write:
            files[f"{number}.txt"] = (steps[-1]["input"]["content"], len(steps) - 1)
    fails = chance.random() < 0.1
    last = {"status": 400, "times": -1, "text": "no"} if fails else {"text": f"All done with {ident}."}
    steps.append({**_BRIEF, **last})
    more: dict[str, Any] = {}
    if chance.random() < 0.3:
        more["setup"] = ("sh", "-c", "sleep 0.2; echo ready >ready.txt")
        files["ready.txt"] = ("ready\n", None)
    if chance.random() < 0.3:
        more["verify"] = ("sh", "-c", "sleep 0.2")
    spec = TicketSpec(
        ident,
        f"Ticket {ident}",
        f"Do {ident}.",
        model="sonnet",
        permission_mode="acceptEdits",
        allowed_tools=("Bash",),
        max_attempts=1000,
        effects=tuple(_EFFECTS),
        **more,
    )
    return spec, steps, files


def _write(chance: random.Random, number: int) -> list[dict[str, Any]]:
    name = f"{number}.txt"
    return [_step(chance, f"Writing {name}.", "Write", file_path=name, content=f"{chance.random()}\n")]


def _bash(chance: random.Random, number: int) -> list[dict[str, Any]]:
    seconds = chance.choices((0.0, 0.3, 1.5, 9.0), (3, 3, 2, 2))[0]
    command = f"sleep {seconds}; echo {number} >>log.txt"
    return [_step(chance, f"Running {number}.", "Bash", command=command, description="run it")]


def _call(chance: random.Random, number: int) -> list[dict[str, Any]]:
    name = chance.choice(tuple(_EFFECTS))
    tool, words = f"mcp__effects__{name}", f"Effect {name} {number}"
    return [_step(chance, f"{words}, call {call}.", tool, n=number) for call in range(_CALLS)]


def _step(chance: random.Random, text: str, tool: str, **given: Any) -> dict[str, Any]:
    return {"delay_s": chance.choice((0.0, 0.05, 0.2)), "chunk_s": 0.0, "text": text, "tool": tool, "input": given}


def op(line: Sequence[str]) -> str:
    """Return the ledger's key of an effect, given the first words of a line of the world."""
    ticket, name, payload = line[:3]
    return f"{ticket}:{name}:{json.loads(payload)['n']}"

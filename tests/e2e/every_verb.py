"""The operator at another shell, for tests of every verb: asks as the control socket does."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import anyio

from supervisor.core.model import Mode, PromptKind, State
from supervisor.core.verbs import BY_NAME
from supervisor.engine import requests, transcripts
from tests.e2e.stage import Stage, agents, say, until, use

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from supervisor.core.model import PromptRecord, TicketSnapshot
    from supervisor.engine.batch import Batch

HEAR, LATER, TRY = "Hear me.", "And hear this.", "Try it in another way."
WRITE = use("Write", "I write it.", file_path="new.txt", content="new\n")
ENDLESS: dict[str, Any] = {"endless": True, "text": "and so on"}
TOLD: Mapping[str, Mapping[str, Any]] = {
    "message": {"text": HEAR},
    "fork": {"prompt": TRY},
    "rewind": {"to": "1"},
    "budget": {"budget_usd": 5.0},
    "priority": {"priority": 3},
}
"""What a verb is told, where a test does not say something else."""
FORK_SCRIPT = [say("In another way.")]
"""What the agent of a fork does: one step of a script of its own."""
UNBEGUN = {
    "fork": "has not begun: there is nothing to fork",
    "rewind": "has not begun: there is nothing to rewind",
    "start-over": "has not begun: there is nothing to start over",
}
"""Why these are refused for a ticket that no agent has worked on, wherever nothing else is in their way."""
BUSY = {
    "resume": "only a resting ticket can be resumed",
    "rewind": "interrupt it first, files are taken back while nobody works on them",
    "start-over": "interrupt it first",
}
"""Why these are refused while an agent works, or is about to."""
NO_TURN = "there is nothing to interrupt"


async def give(batch: Batch, verb: str, ident: str, **told: Any) -> tuple[bool, str]:
    """Give a verb as another shell does; return whether it was accepted, and what was answered."""
    asks = {"do": "verb", "verb": verb, "tickets": [ident], "args": told or TOLD.get(verb, {})}
    reply = await requests.answer(batch, asks)
    (one,) = reply["tickets"]
    assert one["ticket"] == ident
    return one["accepted"], one["says"]


async def accepts(batch: Batch, verb: str, ident: str, **told: Any) -> str:
    """Give a verb that applies; return what was answered."""
    accepted, says = await give(batch, verb, ident, **told)
    assert accepted, f"{verb} {ident}: {says}"
    return says


async def refuses(batch: Batch, ident: str, words: Mapping[str, str]) -> None:
    """Give verbs that do not apply, from the shell and from a key: each says why, and the ticket is as before."""
    for verb, why in words.items():
        before, letters = batch.board[ident], await batch.engine.journal.store.open_letters(ident)
        accepted, says = await give(batch, verb, ident)
        assert not accepted, f"{verb} {ident}: {says}"
        assert says.startswith(ident) or f" {ident} " in says, says
        assert why in says
        if not BY_NAME[verb].applies(before):
            batch.submit(verb, [ident], TOLD.get(verb))
        assert _standing(batch.board[ident]) == _standing(before), verb
        assert await batch.engine.journal.store.open_letters(ident) == letters, verb


def _standing(ticket: TicketSnapshot) -> TicketSnapshot:
    """Return a ticket without what its agent changes all the time."""
    return replace(ticket, detail="", until=None, last_activity=None)


def covers(*verbs: str | Mapping[str, str]) -> bool:
    """Whether these are all the verbs there are, given by name or with the words that refuse them."""
    named = [name for one in verbs for name in ([one] if isinstance(one, str) else one)]
    return set(named) == set(BY_NAME)


async def forks(stage: Stage, batch: Batch, ident: str) -> None:
    """Fork a ticket, which stays as it is."""
    before = batch.board[ident]
    await saw_its_file(stage, batch, ident)
    assert await accepts(batch, "fork", ident) == f"forked as {ident}.2"
    assert batch.board[ident].state is before.state
    assert batch.board[f"{ident}.2"].parent == ident
    assert batch.board[f"{ident}.2"].session_id not in (None, before.session_id)


async def saw_its_file(stage: Stage, batch: Batch, ident: str) -> None:
    """Wait until a ticket's session knows of the file that was written: it is told a moment after.

    A busy CLI that is interrupted before may lose the beginning of its file, the prompt of ours included.
    """
    await until(lambda: b"File created" in _file_of(stage, batch.board[ident].session_id), 40)


async def sets_limits(batch: Batch, ident: str, *, priority: bool = True) -> None:
    """Set a ticket's budget and priority, which moves it nowhere."""
    before = batch.board[ident]
    assert "budget $5.00" in await accepts(batch, "budget", ident)
    assert batch.board[ident].budget_usd == 5.0
    if priority:
        assert await accepts(batch, "priority", ident) == "priority 3"
        assert batch.board[ident].priority == 3
    assert batch.board[ident].state is before.state


async def takes_files_back(stage: Stage, batch: Batch, ident: str) -> None:
    """Take a ticket's files back to the beginning, and bring them forth again; it moves nowhere and nothing is paid."""
    new, before, paid = batch.engine.worktrees.path(ident) / "new.txt", batch.board[ident], len(stage.served(ident))
    assert new.exists()
    assert "taken back" in await accepts(batch, "rewind", ident)
    assert not new.exists()
    await accepts(batch, "rewind", ident, source="undo")
    assert new.exists()
    now = batch.board[ident]
    assert (now.state, now.why, now.attempts, now.session_id) == (
        before.state, before.why, before.attempts, before.session_id,
    )  # fmt: skip
    assert len(stage.served(ident)) == paid


@dataclass(frozen=True, slots=True)
class End:
    """What a ticket has come to."""

    state: State
    served: tuple[int | None, ...] | None = ()
    """Steps of its script that its agents were served, one after the other: each is paid for. None for whatever."""
    modes: tuple[Mode, ...] = ()
    """How each of its attempts came to its session."""
    prompts: tuple[str, ...] = ()
    """What its agents were told: the operator's words, and the kinds of our own prompts."""
    sessions: int = 1
    messages: int = 0
    """Messages that the next agent will be given."""


async def end_of(stage: Stage, batch: Batch, ident: str) -> End:
    """Look what a ticket has come to."""
    store, now = batch.engine.journal.store, batch.board[ident]
    attempts, prompts = await store.attempts(ident), await store.prompts(ident)
    return End(
        now.state,
        tuple(s.step for s in stage.served(ident)),
        tuple(a.mode for a in attempts),
        tuple(map(_words, prompts)),
        len({a.session_id for a in attempts}),
        now.messages,
    )


def _is(found: End, expected: End) -> bool:
    return found == (replace(expected, served=found.served) if expected.served is None else expected)


async def stay_so(stage: Stage, batch: Batch, ends: Mapping[str, End]) -> None:
    """Look, once the batch has stopped, that nothing came after."""
    for ident, end in ends.items():
        assert _is(await end_of(stage, batch, ident), end), ident


def _words(prompt: PromptRecord) -> str:
    first = prompt.text.splitlines()[0]
    return first if prompt.kind is PromptKind.MESSAGE or first == TRY else prompt.kind.value


async def come_to(stage: Stage, batch: Batch, ends: Mapping[str, End], seconds: float = 45.0) -> None:
    """Wait until tickets have come to their ends and no agent is left; then look that each prompt was given once."""
    other: dict[str, End] = dict(ends)
    with anyio.move_on_after(seconds):
        while other or agents():
            found = {ident: await end_of(stage, batch, ident) for ident in ends}
            other = {ident: end for ident, end in found.items() if not _is(end, ends[ident])}
            await anyio.sleep(0.02)
    assert not other, [(ident, end, batch.board[ident].detail) for ident, end in other.items()]
    assert agents() == []
    for ident in ends:
        now = batch.board[ident]
        assert (now.live, now.pending) == (False, None), ident
        letters = await batch.engine.journal.store.open_letters(ident)
        assert [letter.verb for letter in letters] == ["message"] * now.messages, ident
        await _heard_once(stage, batch, ident)


async def _heard_once(stage: Stage, batch: Batch, ident: str) -> None:
    """Look that a ticket's session holds the prompts of ours, each once; a fork's begins with its parent's."""
    store, session = batch.engine.journal.store, batch.board[ident].session_id
    numbers = {a.number for a in await store.attempts(ident) if a.session_id == session}
    given = [p.text for p in await store.prompts(ident) if p.attempt in numbers]
    heard = _said_by_people(_file_of(stage, session))
    own = heard if batch.board[ident].parent is None else heard[len(heard) - len(given) :]
    assert own == given, f"{ident}: {own} instead of {given}"


async def until_streaming(stage: Stage, batch: Batch, names: Iterable[str]) -> None:
    """Wait until agents have written a file, and are in the middle of what they say next."""
    names = tuple(names)
    await until(lambda: all(len(stage.served(name)) == 2 for name in names), 40)
    for name in names:
        await saw_its_file(stage, batch, name)


def _file_of(stage: Stage, session: str | None) -> bytes:
    path = transcripts.find(stage.root / "claude", session or "")
    return b"" if path is None else path.read_bytes()


def _said_by_people(file: bytes) -> list[str]:
    said = []
    for line in file.split(b"\n"):
        with suppress(ValueError):
            entry = json.loads(line)
            if entry.get("type") == "user" and not entry.get("isMeta"):
                said.append(entry["message"]["content"])
    return [words for words in said if isinstance(words, str)]

"""Forks: another ticket that begins with a copy of this one's conversation and files, while this one goes on.

All of it is fixed when the fork is made: the copy of the conversation lies on the disk under an id of its own, and a
commit holds the files. Then the child's row is written and the letter closed, in one step. Whatever a kill leaves
before that step belongs to nobody and is made again, under the same names, by the next start.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import anyio

from supervisor.core import events as ev
from supervisor.core.errors import ConfigError, Fault, SupervisorError
from supervisor.core.forks import Fork, names, spec_of
from supervisor.core.intake import added
from supervisor.engine import conversations, transcripts
from supervisor.engine.asking import lineage

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.core.cuts import Conversation, Cut
    from supervisor.core.letters import Letter
    from supervisor.core.model import PromptRecord, TicketSnapshot
    from supervisor.core.spec import TicketSpec
    from supervisor.engine.context import Engine

_SESSIONS = uuid.UUID("9a1d8d4e-5b0f-4d0c-8f57-1f8f6f5f2b60")
"""Names the sessions of forks: a letter that is carried out again writes the same file again."""
_TITLE = 80
"""Most characters of a title that is made from the prompt."""


async def cut_points(engine: Engine, ticket: str) -> tuple[Cut, ...]:
    """Return where a ticket's conversation may be cut, oldest first. Raises SupervisorError and OSError."""
    _, conversation = await _conversation(engine, engine.board[ticket])
    return conversation.cuts


async def fork(engine: Engine, letter: Letter) -> str:
    """Begin another ticket from one, as a letter says. Raises SupervisorError, OSError and StoreError.

    The letter's ``at`` is a message to cut after, a prompt to cut before, or empty for now.
    """
    made = next((known for known in engine.forks.values() if known.letter == letter.id), None)
    if made is not None:  # it was sent twice at the same time
        return f"forked as {made.child}"
    parent, spec = engine.board[letter.ticket], engine.specs.get(letter.ticket)
    if spec is None:
        raise SupervisorError(f"{parent.id} is not in the file any more: nobody knows what it may do")
    path, conversation = await _conversation(engine, parent)
    cut = _cut(parent, conversation, str(letter.args.get("at", "")))
    child = await _free_name(engine, parent.id)
    # The files are taken after the conversation was read: they may know more than it, never less.
    files, as_of = await _files(engine, parent, child, conversation, cut, letter)
    session = str(uuid.uuid5(_SESSIONS, letter.id))
    await anyio.to_thread.run_sync(conversations.copy, path, conversation, cut, session)
    made = _fork(engine, letter, parent, child, session, cut, files, as_of)
    await _write(engine, letter, made, spec_of(made, spec))
    return f"forked as {child}"


async def begin_again(engine: Engine, fork: Fork, letter: Letter) -> str | None:
    """Make another copy of the conversation that a fork began with, and return its session.

    Of its own first session, whose file still begins so, or of its parent's. None where neither is there any more: it
    then begins without one. Raises OSError.
    """
    session, home = str(uuid.uuid5(_SESSIONS, letter.id)), engine.launch.config_dir
    for source in (fork.session_id, fork.parent_session):
        path = await anyio.to_thread.run_sync(transcripts.find, home, source)
        if path is None:
            continue
        conversation = await anyio.to_thread.run_sync(conversations.read, path)
        cut = next((point for point in conversation.cuts if point.uuid == fork.cut), None)
        if cut is not None:
            await anyio.to_thread.run_sync(conversations.copy, path, conversation, cut, session)
            return session
    return None


async def load(engine: Engine) -> None:
    """Take in the forks of earlier starts. One whose lineage is not in the file any more stays as it is.

    Raises StoreError, and ConfigError when the file gives a fork's name to another ticket.
    """
    for known in await engine.journal.store.forks():
        if known.child in engine.specs:
            fault = "is the name of a fork of this batch", "choose another one"
            raise ConfigError((Fault(str(engine.spec.path), f'[[ticket]] id "{known.child}"', *fault),))
        engine.forks[known.child] = known
    for known in engine.forks.values():
        parent = engine.specs.get(known.parent)
        if parent is not None:
            engine.specs[known.child] = spec_of(known, parent)


async def _conversation(engine: Engine, ticket: TicketSnapshot) -> tuple[Path, Conversation]:
    session, home = ticket.session_id or "", engine.launch.config_dir
    path = await anyio.to_thread.run_sync(transcripts.find, home, session)
    if path is None:
        raise SupervisorError(f"the conversation of {ticket.id} has not reached the disk: try again in a moment")
    return path, await anyio.to_thread.run_sync(conversations.read, path)


def _cut(ticket: TicketSnapshot, conversation: Conversation, at: str) -> Cut:
    if at and at not in conversation:
        raise SupervisorError(f"{at} is no message of the conversation of {ticket.id}")
    cut = conversation.sound_at(at) if at else next(reversed(conversation.cuts), None)
    if cut is None:
        when = "before that message" if at else "yet"
        raise SupervisorError(f"{ticket.id} has not said anything {when} that a fork could go on from")
    return cut


async def _free_name(engine: Engine, parent: str) -> str:
    """Return the next name for a fork of a ticket that no ticket, branch or worktree has."""
    for name in names(parent):
        if name not in engine.board and name not in engine.specs and await engine.worktrees.is_free(name):
            return name
    raise AssertionError("there are names enough")


async def _files(
    engine: Engine, parent: TicketSnapshot, child: str, conversation: Conversation, cut: Cut, letter: Letter
) -> tuple[str, str]:
    """Return the commit with the files that a fork begins with, kept under its own name, and as of when they are."""
    snapshots, prompts = engine.snapshots, await _prompts(engine, parent.id)
    then = _as_of(conversation, cut) if letter.args.get("files") == "then" else None
    if then is None:
        taken = await snapshots.take(child, engine.worktrees.path(parent.id), f"fork of {parent.id}")
        return taken.commit, f"as {parent.id} had them when the fork was made, what was not committed included"
    number, ident = then
    commit = prompts[ident].snapshot if ident in prompts else ""
    if not commit or not await snapshots.exists(commit):
        raise SupervisorError(f"nobody kept the files as of prompt {number}: fork with the files as they are now")
    await snapshots.adopt(child, commit)
    return commit, f"as {parent.id} had them before prompt {number} of the conversation"


def _as_of(conversation: Conversation, cut: Cut) -> tuple[int, str] | None:
    """Return the prompt before which the files were as a cut finds them, its number first; None means now.

    A cut at the end of a turn finds what the next prompt found; one within a turn, at best what that turn began with.
    """
    last = [point for point in conversation.cuts if point.prompt_number == cut.prompt_number][-1]
    number = cut.prompt_number + (cut == last)
    return (number, conversation.prompts[number - 1]) if 1 <= number <= len(conversation.prompts) else None


async def _prompts(engine: Engine, ticket: str) -> dict[str, PromptRecord]:
    """Return the prompts of a ticket and of those it comes from, whose ids its conversation holds too."""
    found: dict[str, PromptRecord] = {}
    for name in lineage(ticket, engine.board):
        found |= {prompt.uuid: prompt for prompt in await engine.journal.store.prompts(name)}
    return found


def _fork(
    engine: Engine, letter: Letter, parent: TicketSnapshot, child: str, session: str, cut: Cut, files: str, as_of: str
) -> Fork:
    args = letter.args
    budget, turns = args.get("budget_usd"), args.get("max_turns")
    return Fork(
        child,
        parent.id,
        letter.id,
        session,
        parent.session_id or "",
        cut.uuid,
        files,
        as_of,
        prompt=str(args["prompt"]),
        title=str(args.get("title") or "") or _first_line(str(args["prompt"])),
        budget_usd=parent.budget_usd if budget is None else float(budget),
        max_turns=parent.max_turns if turns is None else int(turns),
        model=str(args.get("model") or "") or None,
        created=engine.clock(),
    )


def _first_line(text: str) -> str:
    return next(line.strip() for line in text.splitlines() if line.strip())[:_TITLE]


async def _write(engine: Engine, letter: Letter, made: Fork, spec: TicketSpec) -> None:
    """Put the child on the board and close the letter, in one step."""
    parent = engine.board[made.parent]
    says = f"forked as {made.child}"
    await engine.journal.emit_all(
        added(spec, engine.clock(), parent.order, parent.id),
        ev.Forked(made.child, engine.clock(), made, parent.base_commit),
        ev.LettersClosed(parent.id, engine.clock(), (letter.id,), says),
    )
    engine.forks[made.child], engine.specs[made.child] = made, spec
    await engine.journal.emit(ev.Noted(parent.id, engine.clock(), says))

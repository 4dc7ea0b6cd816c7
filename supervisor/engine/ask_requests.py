"""What another shell may ask about asks: which there are, and to answer one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from supervisor.core.asks import AnswerKind, Ask, AskAnswer, offered
from supervisor.engine.desk import OPERATOR
from supervisor.engine.request_fields import BadRequest, find_name, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from supervisor.core.board import Board
    from supervisor.engine.ask_desk import AskDesk

    Request = Mapping[str, Any]
    Reply = dict[str, Any]

_KINDS = {kind.value: kind for kind in AnswerKind}
_SHORTEST = 6
"""Fewest characters that stand for an ask: fewer could be meant for a ticket."""


async def listed(board: Board, request: Request) -> Reply:
    """Return the asks that wait, the longest waiting first: those of ``ticket``, or all. Raises BadRequest."""
    name = text(request, "ticket", "")
    ticket = _ticket(board, name) if name else None
    return {"asks": [as_reply(a) for a in board.asks() if a.waits and ticket in (None, a.ticket)]}


async def answer(desk: AskDesk, board: Board, request: Request) -> Reply:
    """Answer one ask. Raises BadRequest, AskRefused and StoreError.

    ``ask`` is an ask's id, or the ticket's where only one of its asks waits; ``kind`` one of AnswerKind; ``message``
    and ``answers`` as in AskAnswer; ``version`` the one that was shown, and may be left out.
    """
    kind = _KINDS.get(text(request, "kind"))
    if kind is None:
        raise BadRequest(f'"kind" is one of {", ".join(_KINDS)}')
    version = request.get("version")
    if version is not None and (not isinstance(version, int) or isinstance(version, bool)):
        raise BadRequest('"version" must be the number that was shown with the ask')
    ident = _ask(board, text(request, "ask"))
    actor = text(request, "actor", "")[:200] or OPERATOR
    said = AskAnswer(ident, kind, text(request, "message", ""), _answers(request), actor, version)
    return as_reply(await desk.answer(said))


def _answers(request: Request) -> dict[str, str | list[str]]:
    given = request.get("answers", {})
    if not isinstance(given, dict) or not all(_is_said(said) for said in given.values()):
        raise BadRequest('"answers" must be an object: by question a text or a list of texts')
    return given


def _is_said(said: object) -> bool:
    return isinstance(said, str) or (isinstance(said, list) and all(isinstance(entry, str) for entry in said))


def _ask(board: Board, name: str) -> str:
    """Return the id of the ask that a name stands for: its own, the beginning of it, or its ticket's."""
    if board.ask(name) is not None:
        return name
    waiting = [a for a in board.asks() if a.waits]
    begin = [a.id for a in waiting if len(name) >= _SHORTEST and a.id.startswith(name)]
    if len(begin) == 1 and name not in board:
        return begin[0]
    ticket = _ticket(board, name)
    own = [a for a in waiting if a.ticket == ticket]
    if len(own) == 1:
        return own[0].id
    if not own:
        raise BadRequest(f"{ticket} asks nothing")
    listed_ = ", ".join(f"{a.id[:8]} ({a.detail})" for a in own[:5])
    raise BadRequest(f"{ticket} asks {len(own)} things: name one of {listed_}")


def _ticket(board: Board, name: str) -> str:
    ident, fault = find_name(name, [t.id for t in board.rows()], "ask or ticket")
    if ident is None:
        raise BadRequest(fault)
    return ident


def as_reply(ask: Ask) -> Reply:
    """Return an ask as plain data."""
    return {
        "ask": ask.id,
        "ticket": ask.ticket,
        "kind": ask.kind.value,
        "tool": ask.tool,
        "detail": ask.detail,
        "input": dict(ask.input),
        "reason": ask.reason,
        "rules": list(ask.rules),
        "agent": ask.agent,
        "state": ask.state.value,
        "at": ask.at,
        "answer": ask.answer.value if ask.answer else None,
        "takes": [kind.value for kind in offered(ask)],
        "version": ask.version,
    }

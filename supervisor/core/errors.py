"""Everything this package raises on purpose.

One root, so that a caller can tell our refusals from bugs; narrow subclasses, whose fields say what a screen or a
shell needs. Messages are short sentences in plain English; ``remedy``, where there is one, says what to do next.

    SupervisorError
    ├── ConfigError            faults: every fault of one tickets.toml
    ├── PreflightError         remedy: something is missing before anything starts
    ├── IllegalTransition      ticket, from_state, to_state
    ├── StoreError             remedy: the state directory cannot be read or written
    │   ├── LockedError        pid: another supervisor runs on this state directory
    │   ├── DamagedError       path: the database cannot be read as a whole, or is gone
    │   ├── EffectsHeld        no effect may run before the operator has looked
    │   ├── LateSettle         key, state: an effect ended after its claim was taken away
    │   ├── StaleDecision      key, shown, version, state: the effect has moved since the screen was drawn
    │   ├── DecisionRefused    key, verb, state: the effect's state does not allow it
    │   └── UnknownEffect      key
    ├── AskRefused             ask, reason: an answer does not fit what is asked, or comes too late
    ├── WorktreeError          remedy: git refused, or we refused on the operator's behalf
    └── SessionError           ticket
        ├── ConnectFailed      exit_code, stderr: the agent did not start
        └── SessionLost        exit_code, stderr: the agent went away while we were using it
"""

from __future__ import annotations

from dataclasses import dataclass


class SupervisorError(Exception):
    """Root of all errors raised on purpose."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong in a configuration file."""

    file: str
    """The file as the operator named it."""
    place: str
    """Where in the file, such as ``[[ticket]] 3 "003-deploy" budget_usd`` or ``line 4, column 7``; may be empty."""
    message: str
    """What is wrong."""
    hint: str = ""
    """What would be right, such as ``did you mean "budget_usd"?``; may be empty."""

    def __str__(self) -> str:
        """Return the line that the operator reads: file, place, what is wrong (what would be right)."""
        where = f"{self.file}: {self.place}: " if self.place else f"{self.file}: "
        return f"{where}{self.message} ({self.hint})" if self.hint else f"{where}{self.message}"


class ConfigError(SupervisorError):
    """The configuration cannot be used. Holds every fault, in the order they were found."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        super().__init__("\n".join(map(str, faults)))
        self.faults = faults


class PreflightError(SupervisorError):
    """Something the batch needs is missing on this machine, found before anything started."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(_sentence(message, remedy))
        self.message = message
        self.remedy = remedy


class IllegalTransition(SupervisorError):  # noqa: N818
    """A ticket was told to make a move that the table in ``core.model`` does not have."""

    def __init__(self, ticket: str, from_state: str, to_state: str) -> None:
        super().__init__(f"{ticket}: cannot go from {from_state} to {to_state}")
        self.ticket = ticket
        self.from_state = from_state
        self.to_state = to_state


class StoreError(SupervisorError):
    """The state directory cannot be read or written as it should."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(_sentence(message, remedy))
        self.message = message
        self.remedy = remedy


class LockedError(StoreError):
    """Another supervisor is running on this state directory."""

    def __init__(self, pid: int | None, path: str = "") -> None:
        where = f" on {path}" if path else " on this state directory"
        who = f" (pid {pid})" if pid is not None else ""
        super().__init__(f"another supervisor{who} is running{where}", "use that one, or stop it first")
        self.pid = pid
        self.path = path


class DamagedError(StoreError):
    """The database is damaged or gone. Nothing was changed, and nothing begins anew in its place."""

    def __init__(self, path: object, what: str, remedy: str) -> None:
        super().__init__(f"{path}: {what}", remedy)
        self.path = str(path)


class EffectsHeld(StoreError):  # noqa: N818
    """The ledger may lack effects that have run, so none may run before the operator has accepted that."""


class LateSettle(StoreError):  # noqa: N818
    """An effect ended, but its claim was no longer its owner's. What it came to is in the effect's log."""

    def __init__(self, key: str, state: str) -> None:
        super().__init__(f"{key} ended too late: it is {state} by now", "look at its log, where the end is noted")
        self.key = key
        self.state = state


class StaleDecision(StoreError):  # noqa: N818
    """A decision was made looking at a version of the effect that is not the present one. Nothing was changed."""

    def __init__(self, key: str, shown: int, version: int, state: str) -> None:
        super().__init__(f"{key} has changed since it was shown: it is {state} now", "look at it again, then decide")
        self.key = key
        self.shown = shown
        self.version = version
        self.state = state


class DecisionRefused(StoreError):  # noqa: N818
    """A decision does not apply to the state the effect is in, or lacks what it must carry."""

    def __init__(self, key: str, verb: str, state: str, reason: str = "") -> None:
        super().__init__(f"{key} is {state}: {verb} {reason or 'does not apply'}")
        self.key = key
        self.verb = verb
        self.state = state


class UnknownEffect(StoreError):  # noqa: N818
    """The ledger holds no effect of that key."""

    def __init__(self, key: str) -> None:
        super().__init__(f"no effect {key} is known")
        self.key = key


class AskRefused(SupervisorError):  # noqa: N818
    """An answer does not fit what the agent asks, or comes too late. Nothing was changed."""

    def __init__(self, ask: str, reason: str) -> None:
        super().__init__(reason)
        self.ask = ask
        self.reason = reason


class WorktreeError(SupervisorError):
    """A worktree, branch or snapshot cannot be made, used or removed safely."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(_sentence(message, remedy))
        self.message = message
        self.remedy = remedy


class SessionError(SupervisorError):
    """The agent of one ticket failed underneath us."""

    def __init__(self, ticket: str, message: str, *, exit_code: int | None = None, stderr: str = "") -> None:
        super().__init__(f"{ticket}: {message}")
        self.ticket = ticket
        self.message = message
        self.exit_code = exit_code
        """None where the process did not end, or never began."""
        self.stderr = stderr
        """The end of its standard error: untrusted text."""


class ConnectFailed(SessionError):  # noqa: N818
    """The agent did not start, or did not answer the first request."""


class SessionLost(SessionError):  # noqa: N818
    """The agent went away while it was in use."""


def _sentence(message: str, remedy: str) -> str:
    return f"{message}: {remedy}" if remedy else message

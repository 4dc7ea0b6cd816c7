"""Small steps over a ledger's connection for the tests: each is one transaction, as the engine's are."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

from supervisor.core.effects import Claim, EffectRecord, EffectRequest, EffectState, Owner
from supervisor.core.rulings import Decision, DecisionVerb
from supervisor.store import claims, decisions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlite_utils import Database as Connection

T = TypeVar("T")
HERE = Owner("here", 100, 1, "boot")
_ids = count(1)


@contextmanager
def transaction(db: Connection) -> Iterator[None]:
    """Commit what the block does, or none of it."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.commit()
    except BaseException:
        db.rollback()
        raise


def tx(db: Connection, work: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """Run one unit of work."""
    with transaction(db):
        return work(db, *args, **kwargs)


def asked(**changes: Any) -> EffectRequest:
    """Return a request that differs from the usual one as told."""
    usual: dict[str, Any] = {"scope": "001", "op": "deploy", "kind": "once", "ticket": "001", "payload": {"to": "prod"}}
    return EffectRequest(**{**usual, **changes})


def epoch(db: Connection, owner: Owner = HERE) -> int:
    """Begin an epoch."""
    return tx(db, claims.open_epoch, owner, 1.0)


def claim(db: Connection, number: int, at: float = 10.0, **changes: Any) -> Claim:
    """Claim the usual effect."""
    return tx(db, claims.claim, asked(**changes), number, at)


def settle(db: Connection, held: EffectRecord, state: EffectState, **told: Any) -> EffectRecord:
    """End a claim."""
    return tx(db, claims.settle, held, state, 20.0, **told)


def decide(db: Connection, shown: EffectRecord, verb: str, **changes: Any) -> EffectRecord:
    """Decide as an operator who looks at ``shown``."""
    usual: dict[str, Any] = {"decision_id": f"d{next(_ids)}", "actor": "ann", "why": "I looked"}
    decision = Decision(DecisionVerb(verb), seen_version=shown.version, **{**usual, **changes})
    return tx(db, decisions.decide, shown.scope, shown.op, decision, 30.0)


def orphans(db: Connection, *dead: Owner) -> tuple[EffectRecord, ...]:
    """Give up the claims of owners that are dead."""
    return tx(db, claims.orphaned_claims, lambda owner: owner in dead, 25.0)


def unresolved(db: Connection, number: int, **changes: Any) -> EffectRecord:
    """Return an effect that was claimed and ended badly."""
    return settle(db, claim(db, number, **changes).record, EffectState.UNRESOLVED, error="timed out")

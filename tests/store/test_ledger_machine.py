"""Whatever happens in whatever order: no effect is applied twice, none is lost, and the history fits together.

Two keys, so that what goes wrong only when things meet on one key does meet. Processes crash and are replaced, owners
are fenced and report too late, forks ask for what their parents asked for, and an operator decides, sometimes about an
old picture. The operator is truthful: what is marked done was applied, what is marked not done was not.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from supervisor.core.effects import Answer, EffectRecord, EffectRequest, EffectState, Owner
from supervisor.core.errors import DecisionRefused, LateSettle, StaleDecision
from supervisor.core.rulings import DECISIONS, DecisionVerb
from supervisor.store import chain, claims, effect_rows
from supervisor.store.database import connect
from tests.store.ledgers import decide, tx

S, V = EffectState, DecisionVerb
OPS = ("deploy", "comment")
op_names = st.sampled_from((OPS[0], OPS[0], OPS[0], OPS[1]))
tickets = st.sampled_from(("001", "001.2"))
payloads = st.sampled_from([{"to": "prod"}] * 4 + [{"to": "staging"}])
usually = st.sampled_from((True, True, True, False))
rarely = st.sampled_from((False, False, False, True))
picks = st.integers(0, 9)


@dataclass
class Hold:
    """Somebody who was told "mine" and has not reported yet."""

    record: EffectRecord
    owner: Owner
    applied: bool = False
    acts: bool = True
    """Can still reach the other system. A dead or fenced owner cannot, but its report may still be under way."""


@dataclass
class Process:
    """A supervisor: alive until it crashes."""

    owner: Owner
    epoch: int
    alive: bool = True
    holds: list[Hold] = field(default_factory=list)


class Effects(RuleBasedStateMachine):
    """The ledger, the other system, and everybody who deals with them."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.db = connect(self.folder / "state.db")
        self.applied = dict.fromkeys(OPS, 0)
        self.versions = dict.fromkeys(OPS, 0)
        self.shown: dict[str, EffectRecord] = {}
        self.processes: list[Process] = []
        self._start()

    def _start(self) -> None:
        owner = Owner("here", 100 + len(self.processes), 1, "boot")
        self.processes.append(Process(owner, tx(self.db, claims.open_epoch, owner, 1.0)))

    def _living(self) -> list[Process]:
        return [process for process in self.processes if process.alive]

    def _holds(self) -> list[Hold]:
        return [hold for process in self.processes for hold in process.holds]

    @rule(op=op_names, ticket=tickets, payload=payloads, approval=rarely, pick=picks)
    def claim(self, op: str, ticket: str, payload: dict[str, str], approval: bool, pick: int) -> None:
        """A model calls a tool."""
        process = self._living()[pick % len(self._living())]
        request = EffectRequest("001", op, "once", ticket=ticket, payload=payload, approval=approval)
        before = effect_rows.find(self.db, "001", op)
        claim = tx(self.db, claims.claim, request, process.epoch, 10.0)
        if claim.answer is Answer.MINE:
            assert before is None or before.state in (S.REFUSED, S.GRANTED)
            assert claim.record.payload == payload
            process.holds.append(Hold(claim.record, process.owner))
        elif claim.answer is not Answer.REQUESTED:
            assert claim.record == before, "an answer alone changes nothing"

    @precondition(lambda self: any(hold.acts and not hold.applied for hold in self._holds()))
    @rule(pick=picks)
    def apply(self, pick: int) -> None:
        """The effect happens in the other system."""
        able = [hold for hold in self._holds() if hold.acts and not hold.applied]
        hold = able[pick % len(able)]
        hold.applied = True
        self.applied[hold.record.op] += 1

    @precondition(lambda self: self._holds())
    @rule(pick=picks, sure=st.booleans(), late=st.booleans())
    def report(self, pick: int, sure: bool, late: bool) -> None:
        """An owner ends its claim, truthfully; one that was fenced or died before comes too late."""
        holds = [hold for hold in self._holds() if hold.acts is not late] or self._holds()
        hold = holds[pick % len(holds)]
        for process in self.processes:
            process.holds = [other for other in process.holds if other is not hold]
        state = (S.DONE if hold.applied else S.REFUSED) if sure else S.UNRESOLVED
        now = effect_rows.get(self.db, "001", hold.record.op)
        ours = now.state is S.CLAIMED and (now.version, now.epoch) == (hold.record.version, hold.record.epoch)
        try:
            tx(self.db, claims.settle, hold.record, state, 20.0)
            assert ours, "a late report was taken"
        except LateSettle:
            assert not ours
            tx(self.db, claims.note_late, hold.record, state, 20.0)

    @rule(pick=picks, reopen=rarely, recover=usually)
    def crash(self, pick: int, reopen: bool, recover: bool) -> None:
        """A supervisor dies, and another one starts."""
        dead = self._living()[pick % len(self._living())]
        dead.alive = False
        for hold in dead.holds:
            hold.acts = False
        if reopen:
            self.db.close()
            self.db = connect(self.folder / "state.db")
        self._start()
        if recover:
            self.recover()

    @precondition(lambda self: len(self._living()) < 2)
    @rule()
    def second_process(self) -> None:
        """A second process uses the same ledger."""
        self._start()

    @rule()
    def recover(self) -> None:
        """Claims of the dead are found."""
        dead = [process.owner for process in self.processes if not process.alive]
        for record in tx(self.db, claims.orphaned_claims, lambda owner: owner in dead, 25.0):
            assert record.owner in dead

    @rule(op=op_names)
    def look(self, op: str) -> None:
        """The operator's screen shows an effect."""
        record = effect_rows.find(self.db, "001", op)
        if record is not None:
            self.shown[op] = record

    @rule(op=op_names, ticket=tickets, pick=picks, stale=rarely, any_verb=rarely)
    def decide(self, op: str, ticket: str, pick: int, stale: bool, any_verb: bool) -> None:
        """The operator decides: mostly about the present picture, and mostly what applies to it."""
        if not stale:
            self.look(op)
        if op not in self.shown:
            return
        shown, now = self.shown[op], effect_rows.get(self.db, "001", op)
        verbs = [verb for verb in DecisionVerb if any_verb or (now.state in DECISIONS[verb][0] and verb is not V.NOTE)]
        if verbs:
            self._decide(shown, now, verbs[pick % len(verbs)], ticket)

    @rule(op=op_names, ticket=tickets, pick=picks)
    def let_it_run_again(self, op: str, ticket: str, pick: int) -> None:
        """The usual road of what got stuck, in one step, so that it is often walked while something else is late."""
        record = effect_rows.find(self.db, "001", op)
        if record is None or record.state is not S.UNRESOLVED or self.applied[op]:
            return
        granted = decide(self.db, record, V.GRANT, ticket=ticket)
        assert isinstance(granted.payload, dict)
        self.claim(op, ticket, granted.payload, False, pick)

    def _decide(self, shown: EffectRecord, now: EffectRecord, verb: DecisionVerb, ticket: str) -> None:
        if verb is V.FENCE and now.state is S.CLAIMED:
            self._stop(now)
        elif not self._is_true(now.op, verb):
            return
        try:
            record = decide(self.db, shown, verb, ticket=ticket)
            assert verb is V.NOTE or (shown.version == now.version and record.version == now.version + 1)
        except StaleDecision:
            assert shown.version != now.version
        except DecisionRefused:
            assert now.state not in DECISIONS[verb][0]

    def _is_true(self, op: str, verb: DecisionVerb) -> bool:
        """A person who marks an effect done has seen it; one who gives it up or lets it run has seen that it is not."""
        if verb is V.DONE:
            return self.applied[op] == 1
        return verb in (V.NOTE, V.FENCE) or self.applied[op] == 0

    def _stop(self, record: EffectRecord) -> None:
        """Before a claim is taken from its owner, the owner's machine is switched off."""
        for hold in self._holds():
            if hold.record.op == record.op:
                hold.acts = False

    @invariant()
    def nothing_is_applied_twice(self) -> None:
        """Once, whatever was granted: the operator granted only what was not applied."""
        assert all(times <= 1 for times in self.applied.values()), self.applied

    @invariant()
    def nothing_is_lost(self) -> None:
        """What was applied is done or open, and what is done was applied."""
        for op, times in self.applied.items():
            record = effect_rows.find(self.db, "001", op)
            if times:
                assert record is not None
                assert record.state in (S.DONE, S.CLAIMED, S.UNRESOLVED)
            assert record is None or record.state is not S.DONE or times == 1

    @invariant()
    def history_fits_together(self) -> None:
        """Versions only rise, and every row of the log follows from the one before."""
        for op in OPS:
            record = effect_rows.find(self.db, "001", op)
            version = record.version if record else 0
            assert version >= self.versions[op]
            self.versions[op] = version
        assert chain.verify(self.db) == ()

    def teardown(self) -> None:
        """Leave nothing behind."""
        self.db.close()
        shutil.rmtree(self.folder)


Effects.TestCase.settings = settings(max_examples=100, stateful_step_count=50, suppress_health_check=list(HealthCheck))
TestEffects = Effects.TestCase

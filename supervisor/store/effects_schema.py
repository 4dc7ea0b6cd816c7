"""The tables of the ledger, and the triggers that keep it honest whoever writes.

Released statements are never edited. The moves are spelled out here and not made from ``core.effects.MOVES``, so that a
change there cannot silently make two databases of the same version differ; a test compares the two.
"""

from __future__ import annotations

from typing import Final

MOVES: Final = (
    "'requested>granted','requested>denied','requested>done','requested>abandoned',"
    "'claimed>done','claimed>refused','claimed>unresolved',"
    "'refused>claimed','refused>requested','refused>abandoned',"
    "'unresolved>done','unresolved>not_done','unresolved>abandoned','unresolved>claimed',"
    "'not_done>granted','not_done>done','not_done>abandoned','not_done>claimed',"
    "'granted>claimed','granted>done','granted>abandoned',"
    "'denied>granted','denied>requested','denied>abandoned',"
    "'abandoned>done'"
)
MOVES_NOW: Final = f"{MOVES},'unresolved>granted'"
"""The moves since a run may be allowed again of which nobody has found out what became of it."""

_EFFECTS = """
CREATE TABLE effects (
  scope TEXT NOT NULL, op TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('idempotent','keyed','once')),
  effect TEXT NOT NULL, ticket TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN
    ('requested','claimed','done','refused','unresolved','not_done','granted','denied','abandoned')),
  version INTEGER NOT NULL, attempt INTEGER NOT NULL, generation INTEGER NOT NULL,
  fingerprint TEXT NOT NULL, payload TEXT NOT NULL CHECK (json_valid(payload)),
  remote_key TEXT NOT NULL, window_s REAL, timeout_s REAL,
  epoch INTEGER REFERENCES epochs(n) CHECK (state <> 'claimed' OR epoch IS NOT NULL),
  command_pid INTEGER, command_start INTEGER,
  session_id TEXT, tool_use_id TEXT, turn INTEGER, said TEXT NOT NULL,
  requested_at REAL, first_claimed_at REAL, claimed_at REAL, settled_at REAL,
  outcome TEXT CHECK (outcome IS NULL OR json_valid(outcome)), error TEXT NOT NULL,
  granted_to TEXT,
  PRIMARY KEY (scope, op)
) STRICT, WITHOUT ROWID
"""

_LOG = """
CREATE TABLE effect_log (
  seq INTEGER PRIMARY KEY,
  scope TEXT NOT NULL, op TEXT NOT NULL, verb TEXT NOT NULL,
  from_state TEXT, to_state TEXT NOT NULL, version INTEGER NOT NULL,
  actor_kind TEXT NOT NULL CHECK (actor_kind IN ('agent','engine','probe','operator')), actor TEXT NOT NULL,
  reason TEXT NOT NULL, evidence TEXT NOT NULL, seen_version INTEGER, decision_id TEXT, epoch INTEGER,
  fingerprint TEXT NOT NULL, payload TEXT, outcome TEXT,
  at REAL NOT NULL, prev_hash TEXT NOT NULL, hash TEXT NOT NULL,
  FOREIGN KEY (scope, op) REFERENCES effects(scope, op)
) STRICT
"""


def _forbid(name: str, when: str, condition: str, why: str) -> str:
    return f"CREATE TRIGGER {name} BEFORE {when} WHEN {condition} BEGIN SELECT RAISE(ABORT, 'ledger: {why}'); END"


def _forbid_moves(moves: str) -> str:
    condition = f"OLD.state <> NEW.state AND OLD.state || '>' || NEW.state NOT IN ({moves})"
    return _forbid("effects_move", "UPDATE ON effects", condition, "illegal move")


STATEMENTS: Final = (
    # One row: an id of this ledger, in every remote key and at the root of the chain of hashes.
    "CREATE TABLE ledger (id TEXT PRIMARY KEY) STRICT",
    "INSERT INTO ledger (id) VALUES (lower(hex(randomblob(8))))",
    """CREATE TABLE epochs (n INTEGER PRIMARY KEY, host TEXT NOT NULL, pid INTEGER NOT NULL, pid_start INTEGER,
      boot_id TEXT, pid_namespace INTEGER, started_at REAL NOT NULL) STRICT""",
    _EFFECTS,
    "CREATE INDEX effects_open ON effects(state) WHERE state <> 'done'",
    _LOG,
    "CREATE INDEX effect_log_effect ON effect_log(scope, op)",
    "CREATE UNIQUE INDEX effect_log_decision ON effect_log(decision_id) WHERE decision_id IS NOT NULL",
    # REPLACE deletes without firing the triggers of a delete, so a second row of a key must never reach it.
    """CREATE TRIGGER effects_begin BEFORE INSERT ON effects BEGIN
      SELECT RAISE(IGNORE) WHERE EXISTS (SELECT 1 FROM effects WHERE scope = NEW.scope AND op = NEW.op);
      SELECT RAISE(ABORT, 'ledger: an effect begins as requested or claimed')
        WHERE NEW.version <> 1 OR NOT (NEW.state IN ('requested','claimed')
          OR NEW.state = 'done' AND NEW.kind = 'idempotent'); END""",
    _forbid_moves(MOVES),
    _forbid(
        "effects_repeat",
        "UPDATE ON effects",
        "NEW.state = 'claimed' AND OLD.state IN ('unresolved','not_done') AND 'once' IN (OLD.kind, NEW.kind)",
        "an effect that may run only once needs a grant",
    ),
    _forbid(
        "effects_version",
        "UPDATE ON effects",
        "NEW.version <> OLD.version + (OLD.state <> NEW.state)",
        "the version rises by one with every move",
    ),
    _forbid(
        "effects_fixed",
        "UPDATE ON effects",
        "NEW.scope <> OLD.scope OR NEW.op <> OLD.op OR OLD.state = NEW.state AND (OLD.state <> 'claimed'"
        " OR NEW.epoch IS NOT OLD.epoch OR NEW.payload <> OLD.payload OR NEW.fingerprint <> OLD.fingerprint"
        " OR NEW.remote_key <> OLD.remote_key OR NEW.outcome IS NOT OLD.outcome OR NEW.kind <> OLD.kind)",
        "only a move changes an effect",
    ),
    _forbid("effects_kept", "DELETE ON effects", "1", "effects are never deleted"),
    _forbid("effect_log_kept", "DELETE ON effect_log", "1", "the log is append-only"),
    _forbid("effect_log_fixed", "UPDATE ON effect_log", "1", "the log is append-only"),
    _forbid(
        "effect_log_chained",
        "INSERT ON effect_log",
        "NEW.seq <> (SELECT coalesce(max(seq), 0) + 1 FROM effect_log) OR NEW.prev_hash <>"
        " coalesce((SELECT hash FROM effect_log ORDER BY seq DESC LIMIT 1), (SELECT id FROM ledger))",
        "the log is append-only",
    ),
    _forbid("ledger_kept", "DELETE ON ledger", "1", "the ledger keeps its id"),
    _forbid("ledger_fixed", "UPDATE ON ledger", "1", "the ledger keeps its id"),
    _forbid("epochs_kept", "DELETE ON epochs", "1", "epochs are never deleted"),
    _forbid("epochs_fixed", "UPDATE ON epochs", "1", "epochs are never changed"),
)

GRANTS: Final = ("DROP TRIGGER effects_move", _forbid_moves(MOVES_NOW))
"""A run may be allowed again without anybody's claim that the first one did not happen."""

"""The schema, step by step. A step that has been released is never edited; changes get a new one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlite_utils import Migrations

from supervisor.store import effects_schema, turn_sums

if TYPE_CHECKING:
    from sqlite_utils import Database

MIGRATIONS = Migrations("supervisor")


@MIGRATIONS(name="0001_tickets")
def tickets(db: Database) -> None:
    """Tickets as the board shows them, their attempts, our prompts, and every lasting event in order."""
    for statement in _TICKETS.split(";\n"):
        if statement.strip():
            db.execute(statement)


_TICKETS = """
CREATE TABLE tickets (
  id TEXT PRIMARY KEY,
  title TEXT NOT NULL, "order" INTEGER NOT NULL, priority INTEGER NOT NULL,
  parent TEXT REFERENCES tickets(id), after TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN
    ('queued','starting','running','needs_you','parked','paused','done','failed','cancelled')),
  why TEXT, detail TEXT NOT NULL, live INTEGER NOT NULL, until REAL,
  attempts INTEGER NOT NULL, mode TEXT, subtype TEXT, terminal_reason TEXT, turns INTEGER NOT NULL,
  spent_usd REAL NOT NULL, estimated_usd REAL NOT NULL, budget_usd REAL, reserve_usd REAL NOT NULL,
  session_id TEXT, worktree TEXT, branch TEXT, base_commit TEXT, model TEXT,
  denials INTEGER NOT NULL, instructions TEXT NOT NULL DEFAULT '', session_instructions TEXT,
  pending TEXT, operator_at REAL,
  created REAL NOT NULL, started REAL, ended REAL, last_activity REAL
) STRICT;
CREATE UNIQUE INDEX tickets_session ON tickets(session_id);
CREATE TABLE attempts (
  ticket TEXT NOT NULL REFERENCES tickets(id), number INTEGER NOT NULL,
  mode TEXT NOT NULL CHECK (mode IN ('fresh','resume','fork','fallback')),
  session_id TEXT NOT NULL, started REAL NOT NULL, resumed_from TEXT, model TEXT,
  pid INTEGER, pid_start INTEGER, boot_id TEXT, cap_usd REAL, baseline_usd REAL,
  ended REAL, outcome TEXT CHECK (outcome IS NULL OR outcome IN
    ('done','limit','api_error','interrupted','failed_resume','failed_run','crashed','lost')),
  subtype TEXT, terminal_reason TEXT, is_error INTEGER, api_error_status INTEGER,
  num_turns INTEGER NOT NULL, cost_usd REAL NOT NULL, estimated INTEGER NOT NULL,
  errors TEXT NOT NULL, exit_code INTEGER, stderr_tail TEXT NOT NULL, detail TEXT NOT NULL,
  PRIMARY KEY (ticket, number)
) STRICT;
CREATE TABLE prompts (
  uuid TEXT PRIMARY KEY, ticket TEXT NOT NULL REFERENCES tickets(id), attempt INTEGER NOT NULL,
  kind TEXT NOT NULL, text TEXT NOT NULL, at REAL NOT NULL, answered INTEGER NOT NULL
) STRICT;
CREATE INDEX prompts_ticket ON prompts(ticket, at);
CREATE TABLE events (
  seq INTEGER PRIMARY KEY, ticket TEXT NOT NULL REFERENCES tickets(id), at REAL NOT NULL,
  type TEXT NOT NULL, body TEXT NOT NULL
) STRICT;
CREATE INDEX events_ticket ON events(ticket, seq);
"""


@MIGRATIONS(name="0002_effects")
def effects(db: Database) -> None:
    """Effects, who claimed them, and the append-only log of all that happened to them."""
    for statement in effects_schema.STATEMENTS:
        db.execute(statement)


@MIGRATIONS(name="0003_mailbox")
def mailbox(db: Database) -> None:
    """The operator's verbs as rows of their own, limits that outlive a start, and files as of each prompt."""
    for statement in _MAILBOX.split(";\n"):
        if statement.strip():
            db.execute(statement)


_MAILBOX = """
CREATE TABLE mailbox (
  id TEXT PRIMARY KEY, ticket TEXT NOT NULL REFERENCES tickets(id), verb TEXT NOT NULL, at REAL NOT NULL,
  args TEXT NOT NULL, actor TEXT NOT NULL, closed REAL, says TEXT NOT NULL, refused INTEGER NOT NULL
) STRICT;
CREATE INDEX mailbox_open ON mailbox(ticket, at) WHERE closed IS NULL;
ALTER TABLE tickets ADD COLUMN messages INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tickets ADD COLUMN max_turns INTEGER;
ALTER TABLE tickets ADD COLUMN file_budget_usd REAL;
ALTER TABLE tickets ADD COLUMN file_max_turns INTEGER;
ALTER TABLE tickets ADD COLUMN file_priority INTEGER NOT NULL DEFAULT 0;
UPDATE tickets SET file_budget_usd = budget_usd, file_priority = priority;
INSERT INTO mailbox (id, ticket, verb, at, args, actor, says, refused)
  SELECT lower(hex(randomblob(16))), id, pending, coalesce(last_activity, created), '{}', '', '', 0
  FROM tickets WHERE pending IS NOT NULL;
ALTER TABLE prompts ADD COLUMN snapshot TEXT NOT NULL DEFAULT '';
"""


@MIGRATIONS(name="0004_asks")
def asks(db: Database) -> None:
    """What agents want of the operator before they go on, and how that was answered."""
    for statement in _ASKS.split(";\n"):
        if statement.strip():
            db.execute(statement)


_ASKS = """
CREATE TABLE asks (
  id TEXT PRIMARY KEY, ticket TEXT NOT NULL REFERENCES tickets(id), attempt INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('permission','question','plan')),
  tool TEXT NOT NULL, at REAL NOT NULL, summary TEXT NOT NULL, input TEXT NOT NULL, fingerprint TEXT NOT NULL,
  tool_use_id TEXT NOT NULL, state TEXT NOT NULL CHECK (state IN ('open','resting','answered','withdrawn')),
  reason TEXT NOT NULL, rules TEXT NOT NULL, agent TEXT,
  answer TEXT CHECK (answer IS NULL OR answer IN ('allow','allow_session','deny','deny_stop','reply')),
  message TEXT NOT NULL, answers TEXT NOT NULL, actor TEXT NOT NULL, answered_at REAL,
  granted INTEGER NOT NULL CHECK (granted IN (0, 1)), version INTEGER NOT NULL,
  CHECK ((state = 'answered') = (answer IS NOT NULL)), CHECK (state = 'answered' OR NOT granted)
) STRICT;
CREATE INDEX asks_ticket ON asks(ticket, at);
CREATE INDEX asks_pending ON asks(ticket) WHERE state IN ('open', 'resting') OR granted;
ALTER TABLE tickets ADD COLUMN asks INTEGER NOT NULL DEFAULT 0;
"""


@MIGRATIONS(name="0005_forks")
def forks(db: Database) -> None:
    """Where each fork comes from and what it was told: what the file says of other tickets."""
    db.execute(_FORKS)


_FORKS = """
CREATE TABLE forks (
  child TEXT PRIMARY KEY REFERENCES tickets(id), parent TEXT NOT NULL REFERENCES tickets(id),
  letter TEXT NOT NULL UNIQUE, session_id TEXT NOT NULL, parent_session TEXT NOT NULL, cut TEXT NOT NULL,
  files TEXT NOT NULL, files_as_of TEXT NOT NULL, prompt TEXT NOT NULL, title TEXT NOT NULL,
  budget_usd REAL, max_turns INTEGER, model TEXT, created REAL NOT NULL
) STRICT
"""


@MIGRATIONS(name="0006_settings")
def settings(db: Database) -> None:
    """What the operator set for the whole batch."""
    db.execute("CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT")


@MIGRATIONS(name="0007_tokens")
def tokens(db: Database) -> None:
    """What tickets use beside money, and may use."""
    for column in ("budget_turns", "budget_tokens", "file_budget_turns", "file_budget_tokens"):
        db.execute(f"ALTER TABLE tickets ADD COLUMN {column} INTEGER")
    db.execute("ALTER TABLE tickets ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0")


@MIGRATIONS(name="0008_turn_sums")
def sums(db: Database) -> None:
    """What results have told of prices and calls, summed up: a start need not read all turns."""
    db.execute("CREATE TABLE model_prices (model TEXT PRIMARY KEY, usage TEXT NOT NULL) STRICT")
    db.execute("CREATE TABLE largest_calls (model TEXT PRIMARY KEY, usd REAL NOT NULL) STRICT")
    turn_sums.fill(db)


@MIGRATIONS(name="0009_grants")
def grants(db: Database) -> None:
    """An effect whose end nobody knows may be allowed once more."""
    for statement in effects_schema.GRANTS:
        db.execute(statement)

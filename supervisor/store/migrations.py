"""The schema, step by step. A step that has been released is never edited; changes get a new one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlite_utils import Migrations

from supervisor.store import effects_schema

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

"""Textual widgets that draw frozen snapshots. They import ``supervisor.core`` and Textual, never the engine."""

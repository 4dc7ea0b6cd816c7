"""The engine: processes, worktrees, sessions and the pool that runs tickets. Knows nothing of the screen."""

"""The only place with SQL: one writer connection on a thread of its own behind an async front."""

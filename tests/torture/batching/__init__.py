"""A batch of real agents and real effects, and the harness that kills all of it at random; ``tests.torture.batch``."""

"""What ``python -m tests.torture fuzz`` is made of: inputs, how they are spoiled, and what must hold of the outcome."""

"""supervise: run a batch of Claude Code tickets side by side, and stay in charge of them.

Importing this package imports nothing else; the public names are loaded when they are first used.
"""

__version__ = "0.1.0"

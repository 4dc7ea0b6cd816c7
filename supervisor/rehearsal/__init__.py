"""The rehearsal: the real Claude Code CLI against a scripted Messages API on loopback, with no key and no cost.

``script`` is the pure model of scripted steps, ``server`` plays them, ``harness`` runs the server as a subprocess and
makes throwaway repositories. Importing this package imports none of them.
"""

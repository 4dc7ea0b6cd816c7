"""Torture: the real code under kill -9, failing disks and power cuts: ``python -m tests.torture``."""

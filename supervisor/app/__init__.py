"""The terminal application. Only here and in ``widgets`` is Textual imported."""

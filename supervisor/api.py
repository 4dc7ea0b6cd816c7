"""The public names and the modules they live in. Importing this imports none of them: each is loaded on first use.

``supervisor`` hands out the same names, so programs say ``from supervisor import run_resuming``.
"""

TYPE_CHECKING = False  # not typing's: that would be an import
if TYPE_CHECKING:
    from supervisor.core.effects import Refused
    from supervisor.core.errors import StoreError, SupervisorError
    from supervisor.core.model import Outcome
    from supervisor.core.sessions import Summary, summarise
    from supervisor.engine.resuming import OptionsError, ResumeAttempt, ResumingRun, run_resuming
    from supervisor.store.effect_log import EffectLog, EffectResult
    from supervisor.store.session_table import SessionIdError, SessionTable, StoredSession

__all__ = [
    "EffectLog",
    "EffectResult",
    "OptionsError",
    "Outcome",
    "Refused",
    "ResumeAttempt",
    "ResumingRun",
    "SessionIdError",
    "SessionTable",
    "StoreError",
    "StoredSession",
    "Summary",
    "SupervisorError",
    "run_resuming",
    "summarise",
]

MODULES = {
    "EffectLog": "supervisor.store.effect_log",
    "EffectResult": "supervisor.store.effect_log",
    "OptionsError": "supervisor.engine.resuming",
    "Outcome": "supervisor.core.model",
    "Refused": "supervisor.core.effects",
    "ResumeAttempt": "supervisor.engine.resuming",
    "ResumingRun": "supervisor.engine.resuming",
    "SessionIdError": "supervisor.store.session_table",
    "SessionTable": "supervisor.store.session_table",
    "StoreError": "supervisor.core.errors",
    "StoredSession": "supervisor.store.session_table",
    "Summary": "supervisor.core.sessions",
    "SupervisorError": "supervisor.core.errors",
    "run_resuming": "supervisor.engine.resuming",
    "summarise": "supervisor.core.sessions",
}
"""Where each public name is defined."""


def load(name: str) -> object:
    """Import the module of a public name and return what the name stands for. Raises KeyError for any other name."""
    from importlib import import_module

    return getattr(import_module(MODULES[name]), name)


if not TYPE_CHECKING:  # type checkers see the names above, and should complain about any other

    def __getattr__(name: str) -> object:
        if name not in MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value = load(name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

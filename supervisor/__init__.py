"""supervise: run a batch of Claude Code tickets side by side, and stay in charge of them.

Importing this package imports nothing else; the public names are loaded when they are first used.
"""

__version__ = "0.1.0"

TYPE_CHECKING = False  # not typing's: that would be an import
if TYPE_CHECKING:
    from supervisor.api import (
        EffectLog,
        EffectResult,
        OptionsError,
        Outcome,
        Refused,
        ResumeAttempt,
        ResumingRun,
        SessionIdError,
        SessionTable,
        StoredSession,
        StoreError,
        Summary,
        SupervisorError,
        run_resuming,
        summarise,
    )

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

if not TYPE_CHECKING:  # type checkers see the names above, and should complain about any other

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from supervisor.api import load

        globals()[name] = value = load(name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

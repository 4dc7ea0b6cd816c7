"""Look at a scene in the terminal: ``python -m tests.screens.demo busy``. Nothing is run and nothing is spent."""

from __future__ import annotations

import sys

import anyio

from supervisor.app.app import SuperviseApp
from tests.screens.effect_scenes import EFFECT_SCENES
from tests.screens.scenes import NOW, SCENES, FakePort


class DemoPort(FakePort):
    """Leaves at once when asked to stop."""

    app: SuperviseApp

    def request_stop(self) -> None:
        """End the demonstration."""
        self.app.finish(0)


async def main(scene: str) -> None:
    """Show a scene until the operator leaves."""
    port = DemoPort((SCENES | EFFECT_SCENES)[scene]())
    port.app = SuperviseApp(port, clock=lambda: NOW)
    await port.app.run_async()


if __name__ == "__main__":
    anyio.run(main, sys.argv[1] if len(sys.argv) > 1 else "busy")

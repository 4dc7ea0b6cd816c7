"""Runs the rehearsal server as a subprocess, and makes throwaway repositories. Never blocks the event loop.

Must not import the SDK, the engine or any screen.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from subprocess import CalledProcessError
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import anyio
from anyio.streams.buffered import BufferedByteReceiveStream

from supervisor.core.errors import SupervisorError
from supervisor.rehearsal.witness import Served, read_log

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from anyio.abc import Process

START_S = 15.0
"""Deadline for the server's first line; it takes well under a second on an idle machine."""

STOP_S = 3.0
"""Grace after SIGTERM."""

SAMPLE_DATE = "2026-01-05T09:00:00+00:00"
"""Date of the sample's only commit, fixed so that its id is the same everywhere."""

HERE = Path(__file__).resolve().parent


class RehearsalError(SupervisorError):
    """The rehearsal could not be set up; the message says what failed, the program's own words included."""


class RehearsalServer:
    """The scripted Messages API, alive as long as the context.

    Args:
        directory: existing folder for ``scripts.json``, ``served.jsonl`` and ``server.err``. An earlier server's log in
            it is gone on with, so outages that are over stay over.
        scripts: raw steps by ticket id.
        port: 0 for any free one.

    Raises:
        RehearsalError: on entering, if the server does not start.
    """

    def __init__(self, directory: Path, scripts: Mapping[str, Sequence[Mapping[str, Any]]], port: int = 0) -> None:
        self.directory = directory
        self._scripts = scripts
        self._port = port
        self._process: Process | None = None

    @property
    def port(self) -> int:
        """The port it listens on, once started."""
        return self._port

    @property
    def pid(self) -> int | None:
        """The server's process id; None while it does not run."""
        return self._process.pid if self._process else None

    @property
    def log(self) -> Path:
        """The witness log."""
        return self.directory / "served.jsonl"

    def base_url(self, ticket: str) -> str:
        """Return ``ANTHROPIC_BASE_URL`` for a ticket's agent."""
        return f"http://127.0.0.1:{self._port}/t/{quote(ticket, safe='')}"

    def served(self) -> list[Served]:
        """Read the witness log; for tests and reports, since it reads a small file at once."""
        return list(read_log(self.log))

    async def start(self) -> None:
        """Start the server and wait until it takes requests. Raises RehearsalError."""
        scripts = self.directory / "scripts.json"
        # ASCII with escapes, so that any text a script holds can be written.
        await anyio.Path(scripts).write_text(json.dumps({k: list(v) for k, v in self._scripts.items()}), "utf-8")
        errors = await anyio.to_thread.run_sync((self.directory / "server.err").open, "wb")
        with errors:
            self._process = await anyio.open_process(self._argv(scripts), stderr=errors, env=_with_us())
        try:
            with anyio.fail_after(START_S):
                await self._read_port(self._process)
        except BaseException as fault:
            await self.aclose()
            if isinstance(fault, TimeoutError | anyio.IncompleteRead | ValueError):
                words = await anyio.Path(self.directory / "server.err").read_text("utf-8", "replace")
                said = words[-2000:].strip() or repr(fault)
                raise RehearsalError(f"the rehearsal server did not start: {said}") from fault
            raise

    async def aclose(self) -> None:
        """Stop the server; safe to call twice and while being cancelled."""
        process, self._process = self._process, None
        if process is None:
            return
        with anyio.CancelScope(shield=True):
            if process.returncode is None:
                process.terminate()
            with anyio.move_on_after(STOP_S):
                await process.wait()
            if process.returncode is None:
                process.kill()
            await process.aclose()

    async def __aenter__(self) -> RehearsalServer:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def _argv(self, scripts: Path) -> list[str]:
        # -P: a folder that happens to hold a "supervisor" must not be imported instead of us.
        argv = [sys.executable, "-P", "-m", "supervisor.rehearsal.server", "--scripts", str(scripts)]
        return [*argv, "--log", str(self.log), "--port", str(self._port), "--parent", str(os.getpid())]

    async def _read_port(self, process: Process) -> None:
        assert process.stdout is not None
        line = await BufferedByteReceiveStream(process.stdout).receive_until(b"\n", 1000)
        self._port = int(json.loads(line)["port"])


def sample_path() -> Path:
    """Return the sample ``tickets.toml``: inside the package when installed, at the top of a source checkout."""
    packed = HERE / "sample.toml"
    return packed if packed.exists() else HERE.parents[1] / "tickets.toml"


async def prepare_sample(directory: Path) -> Path:
    """Make the throwaway sample repository.

    Args:
        directory: existing folder to make it in.

    Returns:
        The repository, ``directory / "tinyshop"``, with ``tickets.toml`` committed at its top.

    Raises:
        RehearsalError: git is missing or failed.
    """
    repo = directory / "tinyshop"
    await anyio.to_thread.run_sync(_copy_sample, repo)
    await _git("init", "--quiet", "--template=", "--initial-branch=main", cwd=repo, env=_sterile())
    await _name_author(repo)
    await _git("add", "--all", cwd=repo, env=_sterile())
    await _git("commit", "--quiet", "--no-verify", "--message=The shop", cwd=repo, env=_sterile())
    return repo


async def clone_repo(source: Path, dest: Path) -> Path:
    """Clone the operator's repository, to rehearse their own batch without touching it.

    The clone has every branch and tag, the same commit checked out, shares no file with the source, and has no remote,
    so that nothing a rehearsal does can be pushed. What is not committed is not in it.

    Returns:
        ``dest``.

    Raises:
        RehearsalError: git is missing or failed.
    """
    await _git("clone", "--quiet", "--no-hardlinks", "--template=", "--", str(source), str(dest), cwd=dest.parent)
    await _git("remote", "remove", "origin", cwd=dest)
    refs = ["+refs/heads/*:refs/heads/*", "+refs/remotes/*:refs/remotes/*", "+refs/tags/*:refs/tags/*"]
    await _git("fetch", "--quiet", "--update-head-ok", "--", str(source), *refs, cwd=dest)
    await _name_author(dest)
    return dest


def _copy_sample(repo: Path) -> None:
    shutil.copytree(HERE / "tinyshop", repo, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    shutil.copyfile(sample_path(), repo / "tickets.toml")
    # Written here because build tools tend to leave such files out of a wheel.
    (repo / ".gitignore").write_text("__pycache__/\n.supervisor/\n", "utf-8")


async def _name_author(repo: Path) -> None:
    await _git("config", "user.name", "Rehearsal", cwd=repo)
    await _git("config", "user.email", "rehearsal@localhost", cwd=repo)


async def _git(*words: str, cwd: Path, env: Mapping[str, str] | None = None) -> None:
    try:
        await anyio.run_process(["git", *words], cwd=cwd, env=env or _environment())
    except CalledProcessError as fault:
        said = fault.stderr.decode("utf-8", "replace").strip()
        raise RehearsalError(f"git {words[0]} failed: {said}") from fault
    except OSError as fault:
        raise RehearsalError(f"git {words[0]} could not be started: {fault}") from fault


def _environment() -> dict[str, str]:
    """Our environment without what would send git elsewhere, such as GIT_DIR inside a hook."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return kept | {"GIT_TERMINAL_PROMPT": "0"}


def _with_us() -> dict[str, str]:
    """An environment in which Python finds this package, installed or not."""
    paths = [str(HERE.parents[1]), os.environ.get("PYTHONPATH", "")]
    return dict(os.environ) | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}


def _sterile() -> dict[str, str]:
    """An environment in which git makes the same commit on every machine."""
    dates = {"GIT_AUTHOR_DATE": SAMPLE_DATE, "GIT_COMMITTER_DATE": SAMPLE_DATE}
    return _environment() | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"} | dates

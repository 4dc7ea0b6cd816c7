"""A repository and one worktree in which an agent works, without a supervisor, for tests of what git is asked to do."""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
from typing import TYPE_CHECKING

from supervisor.engine.snapshots import Snapshots
from tests.e2e.stage import GIT

if TYPE_CHECKING:
    from pathlib import Path

Files = dict[bytes, tuple[str, bytes]]


def sh(cwd: Path, *args: str | bytes) -> str:
    """Run git as the agent or the operator would."""
    done = subprocess.run(
        ["git", *args], cwd=cwd, env={**os.environ, **GIT}, check=True, capture_output=True, timeout=30
    )
    return done.stdout.decode(errors="surrogateescape").strip()


def files_of(root: Path) -> Files:
    """Everything below a directory that is not git's: kind and content by path; directories only where empty."""
    found: Files = {}
    todo = [root]
    for directory in todo:
        entries = [path for path in (directory.iterdir() if directory.exists() else ()) if path.name != ".git"]
        if not entries and directory != root:
            found[os.fsencode(directory.relative_to(root))] = ("directory", b"")
        for path in entries:
            name = os.fsencode(path.relative_to(root))
            if path.is_symlink():
                found[name] = ("link", os.fsencode(path.readlink()))
            elif path.is_dir():
                todo.append(path)
            else:
                found[name] = ("program" if path.stat().st_mode & stat.S_IXUSR else "file", path.read_bytes())
    return found


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Place:
    """A repository, and one worktree in which an agent works."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.repo = root / "repo"
        self.work = root / "work"
        self.snapshots = Snapshots(self.repo)

    @property
    def git_dir(self) -> Path:
        return self.repo / ".git" / "worktrees" / "work"

    def write(self, path: str, content: str | bytes = "x\n") -> Path:
        place = self.work / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else content.encode())
        return place

    def sh(self, *args: str) -> str:
        return sh(self.work, *args)

    def held(self, commit: str) -> set[str]:
        """The paths that a commit holds."""
        listed = subprocess.run(
            ["git", "ls-tree", "-r", "-z", "--name-only", commit], cwd=self.repo, check=True, capture_output=True
        )
        return {os.fsdecode(path) for path in listed.stdout.split(b"\0")[:-1]}

    def blob(self, ident: str) -> bytes:
        """The content of a file that git holds."""
        return subprocess.run(["git", "cat-file", "blob", ident], cwd=self.repo, check=True, capture_output=True).stdout

    def content(self, commit: str, path: str) -> str:
        return sh(self.repo, "cat-file", "blob", f"{commit}:{path}")


def make_model(repo: Path) -> Path:
    """Make a repository with one commit, to be copied."""
    (repo / "src").mkdir(parents=True)
    for path, text in {
        "hello.txt": "hello\n",
        "src/one.py": "one\n" * 20,
        "src/two.py": "two\n" * 20,
        ".gitignore": "*.log\nbuild/\n",
    }.items():
        (repo / path).write_text(text)
    (repo / "run.sh").write_text("#!/bin/sh\n")
    (repo / "run.sh").chmod(0o755)
    (repo / "link").symlink_to("hello.txt")
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "first"]):
        sh(repo, *words)
    return repo


def work_hard(place: Place) -> None:
    """What an agent may do to its files, with its tools and with commands."""
    place.write("hello.txt", "hello, world\n")
    place.write("new/deep/er.txt", "new\n")
    (place.work / "src" / "two.py").unlink()
    (place.work / "link").unlink()
    (place.work / "link").symlink_to("/etc/passwd")
    (place.work / "run.sh").chmod(0o644)
    (place.work / "dangling").symlink_to("nowhere")
    place.write("tool", b"#!/bin/sh\n\0\xff").chmod(0o755)
    place.write("some.log", "ignored\n")


def clash(place: Place) -> None:
    """Leave the worktree in the middle of a merge that has a conflict."""
    place.sh("switch", "-qc", "side")
    place.write("hello.txt", "side\n")
    place.sh("commit", "-qam", "side")
    place.sh("switch", "-q", "work")
    place.write("hello.txt", "work\n")
    place.sh("commit", "-qam", "work")
    assert subprocess.run(
        ["git", "merge", "side"], cwd=place.work, env={**os.environ, **GIT}, capture_output=True
    ).returncode

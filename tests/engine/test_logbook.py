"""What goes wrong in silence is kept in a file, and the terminal stays as it is."""

from __future__ import annotations

import logging
import re
import sys
import threading
import warnings
from typing import TYPE_CHECKING

from supervisor.engine import logbook

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


class Loud:
    """Complains when it goes."""

    def __del__(self) -> None:
        raise OSError("nobody can catch this")


def test_every_kind_of_complaint(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    hooks = sys.unraisablehook, threading.excepthook
    log = logging.getLogger("supervisor.x")

    def fall() -> None:
        raise ValueError("in a thread")

    with logbook.keep(tmp_path):
        log.warning("a ticket says %s", "\x1b[2Jhello\x07")
        try:
            raise KeyError("caught")
        except KeyError:
            log.exception("ticket %s", "001")
        thread = threading.Thread(target=fall, name="worker")
        thread.start()
        thread.join()
        Loud()
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn("old ways", stacklevel=1)
    assert (sys.unraisablehook, threading.excepthook) == hooks
    text = (tmp_path / logbook.FILE).read_text()
    heads = re.findall(r"^\d{4}-\S+ \S+ (\w+ \S+): (.*)$", text, re.MULTILINE)
    assert [head for head, _ in heads] == [
        "WARNING supervisor.x",
        "ERROR supervisor.x",
        "ERROR python",
        "ERROR python",
        "WARNING py.warnings",
    ]
    assert "\x1b" not in text
    assert "\x07" not in text
    for words in ("KeyError: 'caught'", "ValueError: in a thread", "OSError: nobody can catch this", "old ways"):
        assert words in text
    assert capfd.readouterr() == ("", "")


def test_secrets_stay_out_also_of_tracebacks(tmp_path: Path) -> None:
    with logbook.keep(tmp_path, {"MY_TOKEN": "s3cr3t-value"}):
        try:
            raise ValueError("refused: s3cr3t-value")
        except ValueError:
            logging.getLogger("supervisor.x").exception("ticket %s", "s3cr3t-value")
    text = (tmp_path / logbook.FILE).read_text()
    assert "s3cr3t-value" not in text
    assert text.count("[MY_TOKEN]") == 3, "what was said, the line of source, the fault"


def test_nothing_is_made_where_nobody_complains(tmp_path: Path) -> None:
    with logbook.keep(tmp_path):
        logging.getLogger("supervisor.x").info("all is well")
    assert list(tmp_path.iterdir()) == []


def test_the_file_does_not_grow_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logbook, "MOST_BYTES", 2_000)
    with logbook.keep(tmp_path):
        for number in range(200):
            logging.getLogger("supervisor.x").error("complaint %d %s", number, "x" * 50)
    sizes = [path.stat().st_size for path in tmp_path.iterdir()]
    assert len(sizes) == 2
    assert max(sizes) < 3_000
    assert "complaint 199 " in (tmp_path / logbook.FILE).read_text()


def test_a_disk_that_takes_nothing_is_borne(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with logbook.keep(tmp_path / "nowhere"):
        logging.getLogger("supervisor.x").error("lost")
    assert capfd.readouterr() == ("", "")

"""A directory to write a tickets.toml in, and its faults as lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from supervisor.config import ConfigError, load

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.core.spec import BatchSpec

Load = Callable[[str | bytes], "BatchSpec"]
FaultsOf = Callable[[str | bytes], list[str]]


@pytest.fixture
def load_toml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Load the text of a file called tickets.toml."""
    monkeypatch.chdir(tmp_path)

    def load_it(content: str | bytes) -> BatchSpec:
        path = tmp_path / "tickets.toml"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return load(path.relative_to(tmp_path))

    return load_it


@pytest.fixture
def faults_of(load_toml: Load) -> FaultsOf:
    """Return the faults of the text of a file, as the operator reads them."""

    def faults(content: str | bytes) -> list[str]:
        with pytest.raises(ConfigError) as caught:
            load_toml(content)
        assert str(caught.value).splitlines() == [str(fault) for fault in caught.value.faults]
        return [str(fault) for fault in caught.value.faults]

    return faults

"""A home of its own for every test, fresh places on all engines, the command line in this process."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest
from tests.transfer.places import Places

from queuectl.cli.main import main


@pytest.fixture(autouse=True)
def home_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in list(os.environ):
        if name.startswith("QUEUECTL_") and not name.startswith(("QUEUECTL_PORTABLE", "QUEUECTL_TEST_")):
            monkeypatch.delenv(name)
    path = tmp_path / "home"
    monkeypatch.setenv("QUEUECTL_HOME", str(path))
    return path


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Places]:
    """`place("mysql")`: the URL of a fresh place."""
    places = Places(tmp_path)
    yield places
    places.close()


class Result:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err

    def json(self) -> Any:
        return json.loads(self.out)


class Cli(Protocol):
    def __call__(self, *words: str, code: int = 0) -> Result: ...


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    """Runs a command that must end with this exit code."""

    def run(*words: str, code: int = 0) -> Result:
        capsys.readouterr()
        found = main(list(words))
        said = capsys.readouterr()
        assert found == code, said.out + said.err
        return Result(found, said.out, said.err)

    return run

"""The wording of every command: it prints what its golden file says. `make golden` writes the files anew."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.examples import every_parser
from tests.support.golden import REWRITE, Session

from queuectl.cli.main import COMMANDS

GOLDEN = Path(__file__).with_name("golden")


@pytest.fixture
def session(home_dir: Path, tmp_path: Path) -> Iterator[Session]:
    with pytest.MonkeyPatch.context() as patch:
        it = Session(tmp_path / "golden", patch)
        yield it
        it.close()
    time.tzset()  # as it was before


@pytest.mark.parametrize("name", ["queuectl", *COMMANDS])
def test_a_command_prints_what_its_golden_file_says(session: Session, name: str) -> None:
    file = GOLDEN / f"{name}.txt"
    expected = file.read_text()
    printed = session.replay(expected)
    if REWRITE:
        file.write_text(printed)
    else:
        assert printed == expected, "if it is meant so: make golden, and read the difference"


def test_every_help_is_in_a_golden_file() -> None:
    for words, _ in every_parser():
        lines = (GOLDEN / f"{words[0]}.txt").read_text().splitlines()
        assert f"$ queuectl {' '.join(words)} --help" in lines

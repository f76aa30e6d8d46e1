"""Pages whose examples are one session each: what they show really happens."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.docs.test_docs import Session, alike, blocks, steps


@pytest.mark.parametrize("page", ["docs/map.md", "docs/scheduling.md"])
def test_the_examples_happen_as_written(tmp_path: Path, page: str) -> None:
    session = Session(tmp_path)
    try:
        for _, block in blocks(page, "console"):
            for command, code, output in steps(block):
                done = session.run(command)
                assert done.returncode == code, f"{command}\n{done.stdout}"
                assert alike(done.stdout) == alike(output), command
    finally:
        session.run("queuectl worker stop --now")

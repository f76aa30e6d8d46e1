"""Pages whose examples are one session each: what they show really happens.

The README's tour is run in test_docs.py; blocks of the kind `sh` are only read, in test_blocks.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.docs.blocks import pages
from tests.docs.test_docs import Session, alike, blocks, steps

WITH_SESSIONS = [
    pytest.param(page, marks=pytest.mark.long) if page.startswith("docs/recipes/") else page
    for page in pages()
    if page != "README.md" and blocks(page, "console")
]


@pytest.mark.parametrize("page", WITH_SESSIONS)
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

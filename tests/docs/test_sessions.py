"""Pages whose examples are one session each: what they show really happens.

Blocks of the kind `sh` are only read, in test_blocks.py.
"""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.docs.blocks import pages
from tests.docs.session import Session, blocks, plain_words

WITH_SESSIONS = [
    pytest.param(page, marks=pytest.mark.long) if page.startswith("docs/recipes/") else page
    for page in pages()
    if page != "README.md" and blocks(page, "console")
]


@pytest.mark.parametrize("page", WITH_SESSIONS)
def test_the_examples_happen_as_written(tmp_path: Path, page: str) -> None:
    with closing(Session(tmp_path)) as session:
        for _, block in blocks(page, "console"):
            session.follow(block)


@pytest.mark.parametrize(
    "worker_settings",
    [
        pytest.param({"QUEUECTL_BACKOFF_BASE": "0.01"}, id="with short waits"),
        pytest.param({}, id="as written", marks=pytest.mark.long),
    ],
)
def test_the_tour_of_the_readme_happens_as_written(tmp_path: Path, worker_settings: dict[str, str]) -> None:
    with closing(Session(tmp_path, worker_settings=worker_settings)) as session:
        for kind, block in blocks("README.md", "console", "python"):
            if kind == "console":
                session.follow(block)
                continue
            done = session.run([sys.executable, "-P", "-c", block])
            assert (done.returncode, done.stdout) == (0, "completed\n"), block


def test_only_what_needs_no_shell_runs_without_one() -> None:
    line = "queuectl enqueue --id a 'echo $HOME; exit' \"x && y\""
    assert plain_words(line) == ["enqueue", "--id", "a", "echo $HOME; exit", "x && y"]
    for line in (
        "queuectl list | head -1",
        'queuectl run "echo $X"',
        "queuectl map 'wc {}' ::: *.txt",
        "queuectl status > out",
        "queuectl wait a && queuectl status",
        "queuectl list --tag $X",
        "touch ready",
    ):
        assert plain_words(line) is None, line

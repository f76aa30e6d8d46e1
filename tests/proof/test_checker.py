"""The checker of the proof finds what it is there for: one that cannot fail proves nothing."""

from __future__ import annotations

import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from proof.checker import RunLog, examine
from proof.verdict import Verdict

from queuectl.core.outcome import SUCCEEDED
from tests.support.fake_worker import FakeWorker
from tests.support.home import Home

JOBS = ("first", "second")


@pytest.fixture
def ended(tmp_path: Path) -> Iterator[Home]:
    """Two jobs that have run well, once each."""
    home = Home(tmp_path / "home")
    with home.queue() as queue:
        worker = FakeWorker(queue)
        log = []
        for id in JOBS:
            queue.enqueue("true", id=id)
            job = worker.claim(id)
            log += [f"start {id} {job.token}", f"end {id} {job.token}"]
            worker.end(job, SUCCEEDED, exit_code=0)
        worker.leave()
    (tmp_path / "log").write_text("".join(line + "\n" for line in log))
    yield home
    home.close()


def verdict_of(home: Home, *more_lines: str, acknowledged: tuple[str, ...] = JOBS) -> Verdict:
    file = home.path.parent / "log"
    with file.open("a") as log:
        log.writelines(line + "\n" for line in more_lines)
    return examine(home, acknowledged, RunLog(file))


def test_what_is_well_is_found_well(ended: Home) -> None:
    verdict = verdict_of(ended)
    assert verdict.good, verdict.findings
    assert (verdict.jobs, verdict.runs, verdict.again) == (2, 2, 0)


def test_a_lost_job_is_found(ended: Home) -> None:
    assert verdict_of(ended, acknowledged=(*JOBS, "third")).lost == 1


def test_a_run_without_a_record_and_one_that_overlaps_are_found(ended: Home) -> None:
    verdict = verdict_of(ended, "start first 9.9", "start first 8.8", "end first 9.9")
    assert (verdict.overlapping, verdict.unsound, verdict.again) == (1, 1, 2)


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("UPDATE jobs SET attempts = max_retries + 2 WHERE id = 'first'", "beyond"),
        ("UPDATE jobs SET state = 'pending' WHERE id = 'first'", "stuck"),
        ("UPDATE jobs SET state = 'dead' WHERE id = 'first'", "unsound"),
        ("DELETE FROM attempts", "unsound"),
        ("UPDATE tallies SET jobs = 7", "unsound"),
        (
            "CREATE TEMP TABLE again AS SELECT * FROM attempts; UPDATE again SET run = run + 1; "
            "INSERT INTO attempts SELECT * FROM again",
            "double",
        ),
    ],
)
def test_a_store_that_contradicts_itself_is_found(ended: Home, statement: str, kind: str) -> None:
    with closing(sqlite3.connect(ended.path / "queue.db")) as connection:
        connection.executescript(statement)
    assert getattr(verdict_of(ended), kind) > 0


def test_a_process_that_nobody_looks_after_is_found(ended: Home) -> None:
    orphan = subprocess.Popen(["sleep", "600"], env={**ended.env, "QUEUECTL_ATTEMPT_TOKEN": "1.1"})
    try:
        assert verdict_of(ended).orphans == 1
    finally:
        orphan.kill()
        orphan.wait()

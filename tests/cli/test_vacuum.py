"""queuectl vacuum: the file becomes smaller, and log files that nobody needs go."""

from __future__ import annotations

from pathlib import Path

from tests.support.cli import Cli
from tests.support.fake_worker import FakeWorker

from queuectl.logfiles import log_name
from queuectl.queue import JobFilter, Queue


def log_of(queue: Queue, seq: int, end: str = "") -> Path:
    path = Path(queue.store.location.logs_dir) / (log_name(seq, 1) + end)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * 100)
    return path


def test_space_is_given_back_and_told(cli: Cli, queue: Queue) -> None:
    queue.enqueue_many([f"echo {'x' * 3_000} {number}" for number in range(500)])
    queue.enqueue("echo stays", id="stays")
    queue.remove_matching(JobFilter(text="xxx"))
    dry = cli("vacuum", "--dry-run", "--json").json()
    assert dry["dry_run"] is True
    assert dry["before"] == dry["after"]
    assert dry["before"]["free"] > 1_000_000
    assert cli("vacuum", "--dry-run").out.startswith("would give back about ")
    done = cli("vacuum", "--json").json()
    assert done["after"]["total"] < done["before"]["total"] - 1_000_000
    assert (done["after"]["free"], done["after"]["log"]) == (0, 0)
    assert [job.id for job in queue.list()] == ["stays"]
    assert cli("vacuum").out.startswith("✓ 0B given back: ")


def test_log_files_of_jobs_that_are_gone_are_deleted_and_no_others(
    cli: Cli, queue: Queue, fake_worker: FakeWorker
) -> None:
    alive = queue.enqueue("true", id="a").seq
    cleaned = queue.enqueue("true", id="b")
    fake_worker.complete("b", b"x" * 100)
    queue.store.outputs().drop(queue.store.outputs().pieces((-1, -1), limit=10)[0])
    kept = [log_of(queue, alive), log_of(queue, alive, ".3")]
    strange = kept[0].parent / "notes.txt"
    strange.write_text("mine")
    gone = [log_of(queue, 4711), log_of(queue, 4711, ".1"), log_of(queue, cleaned.seq)]
    assert "would delete 3 log files of jobs that are gone (300B)" in cli("vacuum", "--dry-run").out
    assert all(path.exists() for path in gone)
    assert "✓ 3 log files of jobs that are gone (300B) deleted" in cli("vacuum").out
    assert not any(path.exists() for path in gone)
    assert all(path.exists() for path in (*kept, strange))


def test_there_must_be_a_store(cli: Cli) -> None:
    result = cli("vacuum")
    assert (result.code, result.out) == (3, "")
    assert "there is no database" in result.err

"""The use cases over any engine: what Python programs and the command line call."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.support.jobs import EVERYTHING, claim_one, finish_with, get, job_in, register

from queuectl import doorbell
from queuectl.arriving import bring_in, in_batches
from queuectl.config.settings import Settings
from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.core.spec import job_from_command
from queuectl.errors import DuplicateId, InvalidInput, NotFound, Refused
from queuectl.logfiles import log_name
from queuectl.queue import Queue
from queuectl.store.messages import JobFilter
from queuectl.testing import FakeClock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.stores import Engine

    from queuectl.core.job import NewJob


@pytest.fixture
def queue(engine: Engine, clock: FakeClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Queue:
    monkeypatch.setenv("QUEUECTL_HOME", str(tmp_path))  # no settings of whoever runs the tests
    queue = Queue(engine.open(), Settings(), clock)
    register(queue.store)
    return queue


def same_ids(monkeypatch: pytest.MonkeyPatch, *starts: int) -> None:
    """Let the random part of made ids be these, one after the other, the last for ever."""
    numbers = list(starts)

    def urandom(count: int) -> bytes:
        number = numbers.pop(0) if len(numbers) > 1 else numbers[0]
        return number.to_bytes(count, "little")

    monkeypatch.setattr(os, "urandom", urandom)


def test_a_shell_line_and_a_list_of_words(queue: Queue) -> None:
    line = queue.enqueue("echo $HOME")
    words = queue.enqueue(["echo", "$HOME"], queue="mail", tags=["x"])
    assert (line.command, line.argv, line.state, line.cwd) == ("echo $HOME", None, "pending", os.getcwd())
    assert (words.argv, words.queue, words.tags) == ('["echo", "$HOME"]', "mail", ",x,")


def test_ids_are_made_in_the_order_of_the_jobs(queue: Queue) -> None:
    made = queue.enqueue_many(["true"] * 2_500)
    assert made == sorted(set(made))
    assert [job.id for job in queue.list(limit=3_000)] == made


def test_many_are_all_or_nothing(queue: Queue) -> None:
    with pytest.raises(InvalidInput, match="unknown field"):
        queue.enqueue_many(["true", {"command": "x"}, {"comand": "y"}])
    with pytest.raises(DuplicateId, match="given twice"):
        queue.enqueue_many([{"command": "x", "id": "a"}] * 2)
    assert queue.list() == []


def test_an_id_that_exists_fails_or_is_skipped_as_told(queue: Queue) -> None:
    queue.enqueue("first", id="a")
    with pytest.raises(DuplicateId):
        queue.enqueue("second", id="a")
    assert queue.enqueue("second", id="a", if_exists="skip").command == "first"
    with pytest.raises(InvalidInput, match="if_exists"):
        queue.enqueue("third", if_exists="replace")


@pytest.mark.parametrize("if_exists", ["fail", "skip"])
def test_two_processes_that_make_the_same_id_both_get_their_job(
    queue: Queue, monkeypatch: pytest.MonkeyPatch, if_exists: str
) -> None:
    same_ids(monkeypatch, 5, 5, 9)
    first = queue.enqueue("first")
    second = queue.enqueue("second", if_exists=if_exists)
    assert first.id != second.id
    assert [job.command for job in queue.list()] == ["first", "second"]


@pytest.mark.parametrize("form", [lambda line: line, lambda line: {"command": line}], ids=["line", "fields"])
def test_a_made_id_that_clashes_inside_a_batch_is_made_again(
    queue: Queue, monkeypatch: pytest.MonkeyPatch, form: Callable[[str], str | dict[str, object]]
) -> None:
    same_ids(monkeypatch, 5, 3, 9_999)
    queue.enqueue("first")
    made = queue.enqueue_many([form(f"c{n}") for n in range(5)])
    assert len(set(made)) == 5
    assert made == [job.id for job in queue.list()][1:]
    assert [job.command for job in queue.list()] == ["first", "c0", "c1", "c2", "c3", "c4"]


def test_a_stream_longer_than_is_read_ahead_goes_in_as_a_whole(queue: Queue) -> None:
    """Validated jobs come from a generator; a failure at its end leaves nothing."""
    told: list[int] = []

    def jobs(count: int) -> Iterator[NewJob]:
        defaults = queue.defaults()
        for _ in range(count):
            queue.clock.advance(0.001)  # type: ignore[attr-defined]
            yield job_from_command("true", defaults)
        if count > 3_500:
            raise InvalidInput("the last line is bad")

    def bring(count: int) -> int:
        batches = in_batches(jobs(count))
        return bring_in(batches, queue.store, queue.clock, skip=False, progress=told.append, most=2_000)

    with pytest.raises(InvalidInput, match="last line"):
        bring(4_000)
    assert queue.stats().counts["pending"] == 0
    told.clear()
    assert bring(3_500) == 3_500
    assert told == [1_000, 2_000, 3_000, 3_500]
    assert queue.stats().counts["pending"] == 3_500


def test_workers_are_rung_for_work_and_for_changes(queue: Queue, tmp_path: Path) -> None:
    run = Path(queue.store.location.run_dir)
    run.mkdir()
    bell = doorbell.Bell(str(run), "w1")
    try:
        queue.enqueue("true", id="a")
        assert bell.heard() == doorbell.JOB
        queue.cancel("a")
        assert bell.heard() == b"", "nobody runs it"
        queue.retry("a")
        assert bell.heard() == doorbell.JOB
        claim_one(queue.store, now=queue.clock.now())
        queue.cancel("a")
        assert bell.heard() == doorbell.CONTROL
        queue.set_config("max-retries", "5")
        assert bell.heard() == doorbell.CONTROL
    finally:
        bell.close()


@pytest.mark.parametrize("id", ["missing", "", "../x", "\udcff"])
def test_a_job_that_is_not_there_is_not_found(queue: Queue, id: str) -> None:
    for ask in (queue.get, queue.cancel, queue.retry, queue.remove, lambda id: queue.wait([id])):
        with pytest.raises((NotFound, InvalidInput)):
            ask(id)


def test_what_its_state_does_not_allow_is_refused(queue: Queue) -> None:
    job_in(queue.store, states.COMPLETED, id="done")
    job_in(queue.store, states.PROCESSING, id="running")
    for ask, id in ((queue.cancel, "done"), (queue.retry, "done"), (queue.retry, "running")):
        with pytest.raises(Refused, match=r"is (completed|processing)"):
            ask(id)
    with pytest.raises(Refused, match="is processing"):
        queue.remove("running")
    assert queue.cancel("running") == "cancelling"


def test_waiting_for_no_jobs_is_over_at_once(queue: Queue) -> None:
    queue.enqueue("true")
    assert queue.wait([], timeout=0)
    assert not queue.wait(timeout=0)


def test_waiting_ends_with_the_last_job_or_the_time(queue: Queue, engine: Engine) -> None:
    queue.enqueue("true", id="a")
    queue.enqueue("true", id="b")
    other = engine.open()
    now = queue.clock.now()
    finish_with(other, claim_one(other, now=now), kinds.SUCCEEDED, now=now)
    assert queue.wait(["a"])
    assert not queue.wait(["a", "b"], timeout=0)
    job = claim_one(other, now=now)
    seen = []
    for left in queue.watch(EVERYTHING):
        seen.append(left)
        if left:
            finish_with(other, job, kinds.FAILED, now=now)
            other.cancel(JobFilter(ids=("b",)), now)
    assert seen == [1, 0]


def test_a_change_between_the_look_and_the_wait_is_not_slept_over(queue: Queue, engine: Engine) -> None:
    seen = queue.store.changed()
    engine.open().put_config("shell", "/bin/sh", 1)
    assert queue.wait_for_change(seen=seen)


def test_cleanup_takes_ended_jobs_and_their_logs(queue: Queue, clock: FakeClock) -> None:
    store = queue.store
    logs = Path(store.location.logs_dir)
    files = []
    for id in ("a", "b"):
        queue.enqueue("true", id=id)
        job = claim_one(store, now=clock.now())
        name = log_name(job.seq, job.runs)
        files.append(logs / name)
        files[-1].parent.mkdir(parents=True, exist_ok=True)
        files[-1].write_bytes(b"x")
        finish_with(store, job, kinds.SUCCEEDED, now=clock.now(), log=name)
        clock.advance(10)
    assert queue.cleanup("completed", older_than_ms=15_000) == 1
    assert [file.exists() for file in files] == [False, True]
    assert get(store, "b").state == "completed"
    assert queue.cleanup("completed") == 1
    assert not files[1].exists()
    with pytest.raises(InvalidInput, match="have not ended"):
        queue.cleanup("pending")


def test_a_setting_is_stored_under_its_own_name_however_it_was_called(queue: Queue) -> None:
    queue.set_config("default_max_tries", "6")
    assert queue.store.stored_config() == {"max-retries": "5"}
    assert queue.settings.max_retries == 5
    queue.set_config("max_attempts", None)
    assert queue.store.stored_config() == {}


def test_a_setting_that_makes_no_sense_is_not_stored(queue: Queue) -> None:
    for key, value in (("worker-lease", "5"), ("max-retries", "x")):
        with pytest.raises(InvalidInput):
            queue.set_config(key, value)
    with pytest.raises(NotFound):
        queue.set_config("no-such-thing", "1")
    assert queue.store.stored_config() == {}

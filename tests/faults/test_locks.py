"""Others at the same server: deadlocks with them, rows that they hold, sessions that they end."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from queuectl import events
from queuectl.core import states
from queuectl.errors import StoreBusy
from queuectl.store.api import Store
from queuectl.store.messages import JobFilter
from queuectl.testing import wait_until
from tests.faults.records import RECORD, assert_each_ran_once, started
from tests.support import sessions
from tests.support.jobs import NOW, add, claim, finish, get, new_job, register, report
from tests.support.shared_queue import SharedQueue

BOTH = JobFilter(ids=("a", "b"))
# What makes the other session win: PostgreSQL ends who notices first, MariaDB who has done less.
STRONGER = {
    "postgres": "SET deadlock_timeout = '30s'",
    "mysql": "INSERT INTO config (`key`, value, updated_at) VALUES "
    + ", ".join(f"('x{number}', '', 0)" for number in range(100)),
}
WHOLE_TABLE = {"postgres": "LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE", "mysql": "LOCK TABLES jobs WRITE"}


@pytest.fixture
def retried() -> Iterator[list[object]]:
    """Why something was done again."""
    reasons: list[object] = []
    unsubscribe = events.subscribe(
        lambda name, fields: reasons.append(fields["reason"]) if name == "store.retried" else None
    )
    yield reasons
    unsubscribe()


def hold(cursor: Any, id: str) -> None:
    cursor.execute("UPDATE jobs SET updated_at = updated_at + 1 WHERE id = %s", (id,))


def cancel_both(store: Store) -> Callable[[], None]:
    def act() -> None:
        assert store.cancel(BOTH, NOW) == (0, 2)

    return act


def finish_both(store: Store) -> Callable[[], None]:
    reports = [report(job) for job in store.claimed_by("w1")]

    def act() -> None:
        assert finish(store, *reports) == []

    return act


@pytest.mark.parametrize("ours", [cancel_both, finish_both])
def test_a_deadlock_that_we_lose_is_gone_through_again(
    place: SharedQueue, engine: str, retried: list[object], ours: Callable[[Store], Callable[[], None]]
) -> None:
    store = place.store
    register(store)
    add(store, "a", "b")
    claim(store, 2)
    action = ours(store)
    with ThreadPoolExecutor(1) as threads, sessions.transaction(place.url) as cursor:
        cursor.execute(STRONGER[engine])
        hold(cursor, "b")
        done = threads.submit(action)
        wait_until(lambda: sessions.waiting(place.url), what="our side to hold a and wait for b")
        hold(cursor, "a")
        cursor.connection.rollback()
        done.result(timeout=20)
    assert set(retried) == {"conflict"}  # once more, if we are back at a before the other wakes
    if ours is finish_both:
        assert get(store, "a").state == get(store, "b").state == states.COMPLETED


def test_nobody_waits_for_jobs_that_are_not_theirs(place: SharedQueue) -> None:
    """Somebody holds one that runs and one that waits; all the others can be dealt with."""
    store = place.open()
    register(store)
    add(store, "held1", "a", "b", "held2", "c", "d", "e")
    jobs = {job.id: job for job in claim(store, 3)}
    store.be_patient(1_000)
    with sessions.transaction(place.url) as cursor:
        for id in ("held1", "held2"):
            hold(cursor, id)
        assert finish(store, report(jobs["a"])) == []
        assert [job.id for job in claim(store, 1)] == ["c"]
        assert store.cancel(JobFilter(ids=("b",)), NOW) == (0, 1)
        assert store.cancel(JobFilter(ids=("d",)), NOW) == (1, 0)
        assert store.retry(JobFilter(ids=("d",)), NOW, sources=states.RETRYABLE) == 1
        assert store.remove(JobFilter(ids=("e",)), sources=states.REMOVABLE, limit=1) == (1, [])


def test_a_command_waits_for_a_row_that_somebody_holds(place: SharedQueue) -> None:
    place.put({"a": "true"})
    with ThreadPoolExecutor(1) as threads, sessions.transaction(place.url) as cursor:
        hold(cursor, "a")
        said = threads.submit(place.q, "cancel", "a")
        wait_until(lambda: sessions.waiting(place.url), what="the command to wait")
        cursor.connection.rollback()
        assert said.result().returncode == 0
    assert get(place.store, "a").state == states.CANCELLED


@pytest.mark.long
def test_a_command_says_that_somebody_holds_the_row_for_too_long(place: SharedQueue) -> None:
    place.put({"a": "true"})
    with sessions.transaction(place.url) as cursor:
        hold(cursor, "a")
        said = place.q("cancel", "a")
    assert (said.returncode, said.stdout) == (3, "")
    assert "the server cannot do this now" in said.stderr
    assert get(place.store, "a").state == states.PENDING


def test_nobody_waits_for_ever_for_a_table(place: SharedQueue, engine: str) -> None:
    """A backup, or a change of the schema."""
    store = place.open()
    store.be_patient(1_000)
    with sessions.transaction(place.url) as cursor:
        cursor.execute(WHOLE_TABLE[engine])
        with pytest.raises(StoreBusy):
            store.enqueue([[new_job("a")]], NOW)
        with pytest.raises(StoreBusy):
            store.get("a")
    assert store.enqueue([[new_job("a")]], NOW) == 1


def test_a_result_waits_for_its_row(place: SharedQueue) -> None:
    worker_process = place.worker().ready()
    ids = place.put({"a": RECORD + "; while ! test -e go; do sleep 0.02; done"})
    wait_until(lambda: started(place)["a", 1], what="the command to run")
    with sessions.transaction(place.url) as cursor:
        hold(cursor, "a")
        (place.work / "go").touch()
        wait_until(lambda: "cannot be used now" in worker_process.log, what="the worker to say so")
        assert get(place.store, "a").state == states.PROCESSING
    ids += place.put({"b": RECORD})
    place.settle()
    assert_each_ran_once(place, ids)
    worker_process.stop()


def test_ctrl_c_while_run_waits_for_the_server(place: SharedQueue) -> None:
    """What cancels has a connection of its own: the worker's is in use until the server has answered."""
    command = "touch began; while ! test -e go; do sleep 0.02; done"
    with subprocess.Popen(
        [sys.executable, "-m", "queuectl", "run", "--id", "a", command],
        env=place.environment(),
        cwd=place.work,
        stderr=subprocess.PIPE,
    ) as process:
        wait_until((place.work / "began").exists, what="the command to run")
        with sessions.transaction(place.url) as cursor:
            hold(cursor, "a")
            (place.work / "go").touch()
            wait_until(lambda: len(sessions.waiting(place.url)) == 1, what="the result to wait for its row")
            process.send_signal(signal.SIGINT)
            wait_until(lambda: len(sessions.waiting(place.url)) == 2, what="the cancel to wait for it too")
        _, errors = process.communicate(timeout=30)
    # Whichever of the two comes first.
    state = get(place.store, "a").state
    assert (process.returncode, state) in [(0, states.COMPLETED), (130, states.CANCELLED)]
    assert b"Traceback" not in errors


def test_ctrl_c_in_the_middle_of_a_statement(place: SharedQueue) -> None:
    """What the server answers later is nobody's answer to the next question."""

    def interrupt(_signal: int, _frame: object) -> None:
        raise KeyboardInterrupt

    def interrupt_who_waits() -> None:
        wait_until(lambda: sessions.waiting(place.url), what="the row to be waited for")
        signal.pthread_kill(waiter, signal.SIGUSR1)

    place.put({"a": RECORD, "b": RECORD})
    waiter = threading.get_ident()
    old = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with sessions.transaction(place.url) as cursor, ThreadPoolExecutor(1) as helper:
            hold(cursor, "a")
            done = helper.submit(interrupt_who_waits)
            with pytest.raises(KeyboardInterrupt):
                place.store.cancel(JobFilter(ids=("a",)), NOW)
            done.result()
            assert get(place.store, "b").id == "b"
            assert place.store.cancel(JobFilter(ids=("b",)), NOW) == (1, 0)
    finally:
        signal.signal(signal.SIGUSR1, old)
    wait_until(lambda: not sessions.waiting(place.url), what="the statement to be given up")
    assert (get(place.store, "a").state, get(place.store, "b").state) == (states.PENDING, states.CANCELLED)


@pytest.mark.parametrize("times", [4, pytest.param(25, marks=pytest.mark.long)])
def test_all_sessions_are_ended_again_and_again(place: SharedQueue, times: int) -> None:
    """Each time in the middle of work: some of the new jobs have begun, and others wait."""
    place.configure(claim_ahead="0")
    worker_process = place.worker("--concurrency", "2", count=2).ready()
    processes = worker_process.pids()
    ids: list[str] = []
    for _ in range(times):
        new = place.put({f"j{len(ids) + number}": RECORD + "; sleep 0.03" for number in range(20)})
        wait_until(lambda new=new: started(place).keys() & {(id, 1) for id in new}, what="progress")  # type: ignore[misc]
        assert sessions.end_sessions(place.url) >= 2
        ids += new
    place.settle()
    assert worker_process.pids() == processes
    worker_process.stop()
    assert_each_ran_once(place, ids)
    assert "too late" not in worker_process.log

"""What a worker measures of its jobs and says of itself: stored while it works, and when it ends."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import apsw
import pytest

from queuectl.cli.main import main
from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.core.lifecycle import decide
from queuectl.core.measures import RUN, WAIT, class_of, classes, kind_of_class, sum_kind
from queuectl.core.outcome import Outcome
from queuectl.core.runtimes import digest_of
from queuectl.errors import StoreBusy
from queuectl.events import emit
from queuectl.history import history
from queuectl.testing import wait_until
from queuectl.worker.measures import OF_ALL, RESCUED, STALE, STORE_ERRORS, Measures
from tests.support.jobs import NOW, claimed_job, policy
from tests.support.processes import resident_kb
from tests.support.worker_home import WorkerHome, failpoints

# --- a process --------------------------------------------------------------------------------------------


def measured(home: WorkerHome, queue: str = "default") -> dict[str, int]:
    return {kind: amount for name, kind, amount in home.jobs.store.history().ever() if name == queue}


def counted(home: WorkerHome, what: str) -> int:
    return sum(classes(what, measured(home)).values())


def test_a_worker_stores_how_long_jobs_waited_and_ran(home: WorkerHome) -> None:
    home.config(**{"worker-heartbeat-interval": "200ms", "worker-lease": "10s"})
    # Longer than what is asked for below: its time counts from when we hear that it was started.
    ids = [home.enqueue("sleep 0.4")]
    home.serve()
    ids += [home.enqueue("true"), home.enqueue("exit 3", max_retries=0)]
    home.ended(*ids)
    # While it goes on working: nobody has to stop it for that.
    wait_until(lambda: counted(home, RUN) == 3, what="the measures of three jobs")
    assert counted(home, WAIT) == 3
    found = measured(home)
    attempts = [home.attempt(id) for id in ids]
    ran = [a.finished_at - (a.started_at or 0) for a in attempts]
    assert found[sum_kind(RUN)] == sum(ran) >= 300
    assert classes(RUN, found) == {n: [class_of(ms) for ms in ran].count(n) for n in map(class_of, ran)}
    assert found["started"] == found["enqueued"] == 3
    document = history(home.jobs, "1h")
    told = [p for p in document["run"]["p95"] if p is not None]  # type: ignore[index, call-overload]
    assert told
    assert max(told) > 0.2


@pytest.mark.parametrize("how", ["drain", "now"])
def test_the_last_measures_are_stored_when_it_stops(home: WorkerHome, how: str) -> None:
    worker = home.serve()
    for _ in range(3):
        home.run("true")
    if how == "now":
        home.running(home.enqueue("echo on; exec sleep 60"))
    worker.send_signal(signal.SIGTERM)
    if how == "now":
        worker.send_signal(signal.SIGTERM)
        home.q("worker", "stop", "--now")
    assert worker.wait(20) == 0
    # One that was stopped ran too.
    assert counted(home, RUN) == counted(home, WAIT) == (4 if how == "now" else 3)
    assert not home.registered()


def test_it_stops_in_time_when_the_store_is_locked_for_its_last_words(home: WorkerHome) -> None:
    worker = home.serve(env=failpoints("measure.before_commit=raise:EIO"))
    home.run("true")
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(20) == 0
    assert not home.registered()


def test_it_says_how_much_memory_it_holds(home: WorkerHome) -> None:
    home.config(**{"worker-heartbeat-interval": "100ms", "worker-lease": "10s"})
    home.serve()
    told = wait_until(lambda: home.worker().memory_kb, what="a sign of life")
    assert told is not None
    assert told == pytest.approx(resident_kb(home.worker().pid), rel=0.5)


# --- in memory --------------------------------------------------------------------------------------------


@pytest.fixture
def measures() -> Iterator[Measures]:
    yield Measures()
    emit("worker.stopped", worker="w1")


def end_one(wait: int, run: int, kind: str = kinds.SUCCEEDED, **fields: object) -> None:
    job = claimed_job(run_at=NOW, created_at=NOW - 5_000, **fields)
    outcome = Outcome(kind, started_at=NOW + wait, finished_at=NOW + wait + run)
    emit("job.ended", job=job, report=decide(job, outcome, policy(), now=outcome.finished_at))


def test_what_is_measured_of_a_job(home: WorkerHome, measures: Measures) -> None:
    end_one(1_000, 40)
    end_one(1_010, 3, kinds.FAILED)
    end_one(-20, -5)  # somebody has set the clock back
    end_one(9, 9, queue="mail")
    end_one(5, 5, kinds.UNSTARTED)  # given back: it never ran
    measures.flush(home.jobs.store, NOW)
    found = measured(home)
    assert found == {
        kind_of_class(WAIT, class_of(1_000)): 2,
        kind_of_class(WAIT, 0): 1,
        sum_kind(WAIT): 2_010,
        kind_of_class(RUN, class_of(40)): 1,
        kind_of_class(RUN, class_of(3)): 1,
        kind_of_class(RUN, 0): 1,
        sum_kind(RUN): 43,
    }
    assert measured(home, "mail")[sum_kind(RUN)] == 9


def test_troubles_are_counted_for_no_queue(home: WorkerHome, measures: Measures) -> None:
    emit("worker.rescued", worker="w", jobs=3)
    emit("job.stale", seq=1, claim="c")
    for name in ("store.retried", "store.away", "heart.failed"):
        emit(name, error="e", failures=1)
    emit("anything.else")
    measures.flush(home.jobs.store, NOW)
    assert measured(home, OF_ALL) == {RESCUED: 3, STALE: 1, STORE_ERRORS: 3}
    with pytest.raises(Exception, match="queue name"):
        home.enqueue("true", queue=OF_ALL)


def test_what_could_not_be_stored_is_kept_for_the_next_time(home: WorkerHome, measures: Measures) -> None:
    home.jobs.store.be_patient(20)
    end_one(10, 20)
    with home.locked(), pytest.raises(StoreBusy):
        measures.flush(home.jobs.store, NOW)
    assert measured(home) == {}
    end_one(10, 30)
    measures.flush(home.jobs.store, NOW)
    assert measured(home)[sum_kind(RUN)] == 50
    measures.flush(home.jobs.store, NOW)  # and each thing once
    assert measured(home)[sum_kind(RUN)] == 50


def test_as_upkeep_it_stores_now_and_then(home: WorkerHome, measures: Measures) -> None:
    store, settings = home.jobs.store, home.jobs.settings
    seen = []
    for seconds in (0, 2, 4, 6):
        end_one(1, 1)
        measures(store, settings, NOW + seconds * 1000)
        seen.append(measured(home).get(sum_kind(RUN), 0))
    assert seen == [1, 1, 1, 4]


def test_it_hears_no_more_when_its_worker_has_stopped(home: WorkerHome) -> None:
    one = Measures()
    end_one(1, 1)
    emit("worker.stopped", worker="w1")
    end_one(1, 1)
    one.flush(home.jobs.store, NOW)
    assert measured(home)[sum_kind(RUN)] == 1
    assert home.jobs.stats().counts[states.COMPLETED] == 0


# --- how long commands take -------------------------------------------------------------------------------


def known(home: WorkerHome, command: str, cwd: str | None = "/srv") -> int:
    digest = digest_of(command, None, cwd)
    found = home.jobs.store.runtimes().of([digest])
    return found[digest].runs if found else 0


def test_only_successes_teach_how_long_a_command_takes(home: WorkerHome, measures: Measures) -> None:
    for run in (900, 1_000, 1_100):
        end_one(1, run, command="make")
    end_one(1, 5, kinds.FAILED, command="make")
    end_one(1, 60_000, kinds.TIMEOUT, command="make")
    end_one(1, 7, command="make", cwd="/elsewhere")
    measures.flush(home.jobs.store, NOW)
    assert (known(home, "make"), known(home, "make", "/elsewhere")) == (3, 1)
    digest = digest_of("make", None, "/srv")
    assert home.jobs.store.runtimes().of([digest])[digest].median_ms == pytest.approx(1_000, rel=0.1)


def test_of_very_many_commands_some_are_learned(home: WorkerHome, measures: Measures) -> None:
    for number in range(1_000):
        end_one(1, 5, command=f"echo {number}")
    end_one(1, 5, command="echo 0")
    home.jobs.store.be_patient(20)
    with home.locked(), pytest.raises(StoreBusy):
        measures.flush(home.jobs.store, NOW)
    end_one(1, 5, command="echo 0")  # what could not be stored is kept
    measures.flush(home.jobs.store, NOW)
    assert known(home, "echo 0") == 3
    assert (known(home, "echo 399"), known(home, "echo 400"), known(home, "echo 999")) == (1, 0, 0)


def test_a_worker_ends_a_command_that_takes_much_longer_than_usual(
    home: WorkerHome, measures: Measures
) -> None:
    for _ in range(3):
        end_one(1, 10, command="sleep 60", cwd=str(home.work))
    measures.flush(home.jobs.store, NOW)
    home.serve()
    job = home.run("sleep 60", timeout="300%", max_retries=0)
    assert job.state == states.DEAD
    assert str(job.last_error).startswith("timed out after ")
    assert " s (limit 1s: 300% of its usual " in str(job.last_error)


DAMAGED = ["1" + "0" * 400, "1" + "0" * 5_000, "NaN", "1e400", "-300", "true", '"x"']


def test_a_damaged_timeout_takes_no_worker_down(home: WorkerHome, measures: Measures) -> None:
    command = "echo 0"
    for _ in range(3):
        end_one(1, 5, command=command, cwd=str(home.work))
    measures.flush(home.jobs.store, NOW)
    ids = {home.enqueue(command, timeout="300%"): percent for percent in DAMAGED}
    with apsw.Connection(str(home.path / "queue.db")) as db:
        for id, percent in ids.items():
            db.execute("UPDATE jobs SET rules = ? WHERE id = ?", (f'{{"timeout_percent": {percent}}}', id))
    for id in ids:
        for words in (["show", id], ["show", id, "--json"], ["explain", id]):
            assert main([*words, "--db", home.address]) == 0, words
    assert main(["list", "--json", "--db", home.address]) == 0
    worker = home.serve("--concurrency", "4")
    home.ended(*ids)
    assert worker.poll() is None
    for id, percent in ids.items():
        readable = len(percent) < 4_300  # else all of its rules are lost
        assert home.job(id).state == (states.COMPLETED if readable else states.DEAD), percent[:80]

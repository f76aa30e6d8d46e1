"""Rounds in which a process dies at the upkeep that a worker's heart does beside the jobs."""

from __future__ import annotations

import subprocess
import sys

from tests.conformance.test_schedules import schedule
from tests.crash.test_counts import TIDY
from tests.crash.test_history import FOLD, MEASURE, SAMPLE, START

from proof.matrix.stage import PATIENCE, Stage
from queuectl.store.history import DAY, PASSED
from queuectl.store.tallies import MINUTE_MS
from queuectl.testing import wait_until

_FAR = 40 * DAY * MINUTE_MS  # between the rounds: what one leaves is long past for the next
_SHORTEN = (
    "import sys; from queuectl.queue import Queue\n"
    "with Queue.open(sys.argv[1]) as queue: queue.store.bookkeeping().shorten_waits(int(sys.argv[2]), 0)"
)


def _script(stage: Stage, code: str, now: int, *, armed: bool) -> subprocess.Popen[bytes]:
    return stage.execute([sys.executable, "-c", code, stage.home.address, str(now)], armed=armed)


def _dies_and_is_repeated(stage: Stage, code: str, now: int) -> None:
    """All that is known of the past is the same, before and after."""
    stage.put(1)
    with stage.home.queue() as queue:
        before = sorted(queue.store.history().ever())
        stage.fires(_script(stage, code, now, armed=True))
        _script(stage, code, now, armed=False).wait(PATIENCE)
        after = sorted(queue.store.history().ever())
    if before != after:
        stage.extra.append(f"the past has changed from {before} to {after}")
    stage.run_dry()


def _time(stage: Stage) -> int:
    return START + stage.number * _FAR


def _measured(stage: Stage) -> int:
    now = _time(stage)
    with stage.home.queue() as queue:
        queue.store.history().measured([(f"q{n}", "run ms", n + 1) for n in range(3)], now)
    return now


def fold(stage: Stage) -> None:
    now = _measured(stage)
    _dies_and_is_repeated(stage, FOLD, now + (PASSED + 1) * MINUTE_MS)


def fade(stage: Stage) -> None:
    now = _measured(stage)
    with stage.home.queue() as queue:
        queue.store.history().fold(now + 10 * MINUTE_MS)
    _dies_and_is_repeated(stage, FOLD, now + DAY * MINUTE_MS)


def sample(stage: Stage) -> None:
    _dies_and_is_repeated(stage, SAMPLE, _time(stage))


def measure(stage: Stage) -> None:
    stage.put(1)
    stage.fires(_script(stage, MEASURE, _time(stage), armed=True))
    stage.run_dry()


def tidy(stage: Stage) -> None:
    """Rows of queues without jobs go; no count of the others may go with them."""
    aside = f"gone{stage.number}"
    with stage.home.queue() as queue:
        queue.enqueue("true", id=aside, queue=aside)
    stage.succeed("rm", aside)
    stage.put(1)
    stage.fires(_script(stage, TIDY, 0, armed=True))
    _script(stage, TIDY, 0, armed=False).wait(PATIENCE)
    stage.run_dry()


def shorten(stage: Stage) -> None:
    """A job failed, and the clock was set back: it would wait for an hour and more."""
    failed = stage.file("failed")
    (id,) = stage.put(1, f"test -e {failed} || {{ : > {failed}; exit 1; }}")
    worker = stage.work_alone()
    with stage.home.queue() as queue:
        wait_until(lambda: queue.get(id).state != "pending", timeout=PATIENCE, what="the first run")
        wait_until(lambda: queue.get(id).state != "processing", timeout=PATIENCE, what="its failure")
        stage.stop(worker)
        now = queue.clock.now() - 3_600_000
    stage.fires(_script(stage, _SHORTEN, now, armed=True))
    _script(stage, _SHORTEN, now, armed=False).wait(PATIENCE)
    stage.run_dry()


def fire_a_schedule(stage: Stage) -> None:
    """One that fell due while no worker was there: it is fired once, whoever dies doing so."""
    name = f"s{stage.number}"
    stage.put(1)
    with stage.home.queue() as queue:
        due = queue.clock.now() // 3_600_000 * 3_600_000
        queue.store.schedules().add(schedule(name, next_at=due, job='{"command": "true"}'))
        supervisor = stage.supervise(armed=True)
        stage.await_fire()
        wait_until(lambda: queue.store.schedules().get(name).fired, timeout=PATIENCE, what="the schedule")  # type: ignore[union-attr]
        stage.settle()
        stage.stop(supervisor)
        found = queue.store.schedules().get(name)
        jobs = [job.id for job in queue.list() if job.schedule == name]
        if found is None or found.fired != 1 or len(jobs) != 1:
            stage.extra.append(f"a schedule was fired {found and found.fired} times, jobs: {jobs}")
        queue.store.schedules().remove(name)

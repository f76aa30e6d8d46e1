"""Whoever dies while outputs or run times are given up leaves what is whole, and it may be repeated."""

from __future__ import annotations

import subprocess
import sys

import pytest

from queuectl.store.messages import JobFilter
from queuectl.testing import wait_until
from tests.crash.points import armed
from tests.support.engines import SERVERS, on_engines
from tests.support.home import Home

pytestmark = on_engines(long=SERVERS)
# What a worker's heart would do, by itself: everything beyond the first byte of output is too much.
TRIM = (
    "import sys; from queuectl.queue import Queue; from queuectl.upkeep.trimmer import Trimmer\n"
    "with Queue.open(sys.argv[1]) as queue:\n"
    "    queue.settings.keep_output = 1; trim = Trimmer(lambda: 'nobody')\n"
    "    trim(queue.store, queue.settings, queue.clock.now())"
)
UNLEARN = (
    "import sys; from queuectl.queue import Queue\n"
    "with Queue.open(sys.argv[1]) as queue: queue.store.runtimes().prune(keep=2)"
)


def process(home: Home, code: str, point: str | None = None) -> int:
    env = {**home.env, **(armed(home, point) if point else {})}
    words = [sys.executable, "-c", code, home.address]
    return subprocess.run(words, env=env, timeout=60, check=False).returncode


def test_output_that_is_being_dropped_when_somebody_dies_is_gone_from_the_store(home: Home) -> None:
    with home.queue() as queue:
        queue.enqueue_many([{"id": f"j{n}", "command": f"echo {n}"} for n in range(3)])
        home.start()
        wait_until(lambda: queue.store.unfinished(JobFilter()) == 0, timeout=60, what="the jobs")
        home.ok("worker", "stop")

        def outputs() -> list[bytes | None]:
            return [queue.attempts(queue.get(f"j{n}"))[0].output for n in range(3)]

        assert all(outputs())
        assert process(home, TRIM, "trim.dropped") == -9
        assert not all(outputs())
        assert process(home, TRIM) == 0
        assert [queue.get(f"j{n}").state for n in range(3)] == ["completed"] * 3


@pytest.mark.parametrize("point", ["unlearn.before_commit", "unlearn.committed"])
def test_forgetting_of_run_times_that_dies_may_be_repeated(home: Home, point: str) -> None:
    with home.queue() as queue:
        store = queue.store
        store.history().measured(
            [("mail", "run ms", 5)], queue.clock.now(), {(f"c{n}", 20): 1 for n in range(5)}
        )
        assert process(home, UNLEARN, point) == -9
        assert len(store.runtimes().of([f"c{n}" for n in range(5)])) in (2, 5)
        assert process(home, UNLEARN) == 0
        assert len(store.runtimes().of([f"c{n}" for n in range(5)])) == 2

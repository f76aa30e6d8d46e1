"""Whoever dies while the past is put in order loses nothing of it and doubles nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from queuectl.store.history import DAY, MINUTE, PASSED, SAMPLES
from queuectl.store.tallies import MINUTE_MS
from tests.crash.points import armed, await_fire
from tests.support.engines import SERVERS, on_engines
from tests.support.home import Home

pytestmark = [pytest.mark.long, on_engines(long=SERVERS)]

# The store's part alone, as a worker's heart would call it at that time.
DO = (
    "import sys; from queuectl.queue import Queue\n"
    "with Queue.open(sys.argv[1]) as queue: queue.store.history()."
)
FOLD = DO + "fold(int(sys.argv[2]))"
SAMPLE = DO + "sample(int(sys.argv[2]))"
MEASURE = DO + "measured([('mail', 'run ms', 5)], int(sys.argv[2]))"
ROWS = 600  # more than are moved in one transaction
START = 1_800_000_000_000


def process(home: Home, code: str, now: int, point: str | None = None) -> int:
    env = {**home.env, **(armed(home, point) if point else {})}
    words = [sys.executable, "-c", code, home.address, str(now)]
    return subprocess.run(words, env=env, timeout=60, check=False).returncode


def told(home: Home) -> tuple[object, ...]:
    """All that can be known of the past, wherever it stands."""
    with home.queue() as queue:
        past = queue.store.history()
        since = START // MINUTE_MS // DAY * DAY
        return past.ever(), *(past.series(span, since, q) for span in (MINUTE, DAY) for q in (None, "q7"))


def left(home: Home) -> int:
    with home.queue() as queue:
        db = queue.store.connection
        (row,) = db.all("SELECT count(*) FROM tallies WHERE minute > 0")
        return int(str(row[0]))


@pytest.mark.parametrize(
    "point", ["fold.before_commit", "fold.committed", "fold.before_commit@2", "fold.committed@2"]
)
def test_a_move_that_dies_loses_nothing_and_doubles_nothing(home: Home, point: str) -> None:
    with home.queue() as queue:
        queue.store.history().measured([(f"q{n}", "run ms", n + 1) for n in range(ROWS)], START)
    before, later = told(home), START + (PASSED + 1) * MINUTE_MS
    assert process(home, FOLD, later, point) == -9
    assert told(home) == before
    assert left(home) == {"fold.before_commit": 600, "fold.committed@2": 0}.get(point, 100)
    assert process(home, FOLD, later) == 0
    assert told(home) == before
    assert left(home) == 0


@pytest.mark.parametrize("point", ["fade.before_commit", "fade.committed"])
def test_forgetting_that_dies_may_be_repeated(home: Home, point: str) -> None:
    with home.queue() as queue:
        queue.store.history().measured([("q7", "run ms", 5)], START)
        assert queue.store.history().fold(START + 10 * MINUTE_MS)
        kept = queue.store.history().ever()
    later = START + DAY * MINUTE_MS
    assert process(home, FOLD, later, point) == -9
    assert process(home, FOLD, later) == 0
    with home.queue() as queue:
        assert queue.store.history().ever() == kept == [("q7", "run ms", 5)]
        assert queue.store.history().series(MINUTE, 0) == []


@pytest.mark.parametrize("point", ["sample.before_commit", "sample.committed"])
def test_a_sample_is_there_or_is_not(home: Home, point: str) -> None:
    assert process(home, SAMPLE, START, point) == -9
    assert process(home, SAMPLE, START) == 0
    with home.queue() as queue:
        assert queue.store.history().series(MINUTE, 0) == [(START // MINUTE_MS, SAMPLES, 1)]


@pytest.mark.parametrize("point", ["measure.before_commit", "measure.committed"])
def test_what_was_measured_is_there_or_is_not(home: Home, point: str) -> None:
    assert process(home, MEASURE, START, point) == -9
    with home.queue() as queue:
        found = queue.store.history().ever()
    assert found == ([("mail", "run ms", 5)] if point == "measure.committed" else [])


def test_jobs_do_not_suffer_when_a_worker_dies_with_its_measures(home: Home) -> None:
    """Its successor goes on, and the counts that transactions keep are exact."""
    home.start(env=armed(home, "measure.before_commit"))
    ids = [home.ok("enqueue", "--quiet", "true").strip() for _ in range(3)]
    for id in ids:
        home.wait_for(id, "completed")
    await_fire(home)
    with home.queue() as queue:
        ever = {
            kind: amount
            for queue_name, kind, amount in queue.store.history().ever()
            if queue_name == "default"
        }
        assert queue.stats(window_ms=600_000).finished_recently["completed"] == 3
    assert (ever["completed"], ever["enqueued"]) == (3, 3)

"""What graphs are made of: arrays of one length, each step where its minutes are, of one queue or of all."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.jobs import add, claim_one, finish_with, get, job_in, register

from queuectl.config.settings import Settings
from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.core.measures import RUN, WAIT, class_of, kind_of_class
from queuectl.history import RANGES, history
from queuectl.queue import JobFilter, Queue
from queuectl.testing import FakeClock
from queuectl.upkeep.bookkeeper import Bookkeeper

if TYPE_CHECKING:
    from tests.support.stores import Engine

FLOWS = ("completed", "dead", "failed", "cancelled", "enqueued")
DEPTHS = ("pending", "processing", "scheduled", "failed", "blocked", "dead")
STEPS = {"1h": (60, 60), "24h": (600, 144), "7d": (3600, 168), "30d": (14400, 180)}
START = 1_800_000_000_000  # the beginning of a minute, of ten, of an hour, of four
MINUTE, HOUR, DAY = 60, 3600, 86_400  # seconds


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(START)


@pytest.fixture
def queue(engine: Engine, clock: FakeClock) -> Queue:
    queue = Queue(engine.open(), Settings(), clock)
    register(queue.store)
    return queue


def arrays(document: dict[str, Any]) -> list[list[object]]:
    return [
        document["times"],
        *(document[flow] for flow in FLOWS),
        *document["depth"].values(),
        *document["wait"].values(),
        *document["run"].values(),
    ]


def at(document: dict[str, Any], values: list[Any]) -> dict[int, Any]:
    """What is not nothing, by how many seconds after START its step begins."""
    return {
        time - START // 1000: value
        for time, value in zip(document["times"], values, strict=True)
        if value not in (0, None)
    }


def see(queue: Queue, range_name: str, name: str | None = None) -> dict[str, Any]:
    return history(queue, range_name, name)


@pytest.mark.parametrize("range_name", RANGES)
def test_all_arrays_have_one_length_and_the_last_step_is_now(
    queue: Queue, clock: FakeClock, range_name: str
) -> None:
    clock.advance(12_345)
    job_in(queue.store, states.COMPLETED, now=clock.now())
    for name in (None, "default", "nobody"):
        document = see(queue, range_name, name)
        step, count = STEPS[range_name]
        assert (document["range"], document["queue"], document["step_seconds"]) == (range_name, name, step)
        assert {len(array) for array in arrays(document)} == {count}
        assert set(document["depth"]) == set(DEPTHS)
        times = document["times"]
        assert {b - a for a, b in pairwise(times)} == {step}
        assert all(time % step == 0 for time in times)
        assert times[-1] <= clock.now() // 1000 < times[-1] + step
        assert document["completed"][-1] == (0 if name == "nobody" else 1)
        assert sum(document["completed"][:-1]) == 0
        assert set(document) == {"range", "queue", "step_seconds", "times", "depth", "wait", "run", *FLOWS}


@pytest.mark.parametrize("folded", [False, True], ids=["fresh", "folded"])
def test_each_thing_is_in_the_step_of_its_minute(queue: Queue, clock: FakeClock, folded: bool) -> None:
    store = queue.store
    for number, (seconds, state) in enumerate(
        [
            (0, states.COMPLETED),
            (59, states.COMPLETED),
            (60, states.DEAD),
            (9 * MINUTE, states.CANCELLED),
            (10 * MINUTE, states.FAILED),
            (50 * MINUTE, states.COMPLETED),
        ]
    ):
        job_in(store, state, f"j{number}", now=START + seconds * 1000)
    add(store, "m", queue="mail", now=START + 5000)
    clock.advance(59 * MINUTE + 59)
    if folded:
        assert store.history().fold(clock.now()) is True
    hour = see(queue, "1h")
    assert at(hour, hour["completed"]) == {0: 2, 50 * MINUTE: 1}
    assert at(hour, hour["dead"]) == {60: 1}
    assert at(hour, hour["cancelled"]) == {9 * MINUTE: 1}
    assert at(hour, hour["failed"]) == {10 * MINUTE: 1}
    assert at(hour, hour["enqueued"]) == {0: 3, 60: 1, 9 * MINUTE: 1, 10 * MINUTE: 1, 50 * MINUTE: 1}
    day = see(queue, "24h")
    assert at(day, day["completed"]) == {0: 2, 50 * MINUTE: 1}
    assert at(day, day["enqueued"]) == {0: 5, 10 * MINUTE: 1, 50 * MINUTE: 1}
    for longer in ("7d", "30d"):
        assert at(see(queue, longer), see(queue, longer)["completed"]) == {0: 3}
    mail = see(queue, "1h", "mail")
    assert at(mail, mail["enqueued"]) == {0: 1}
    assert at(mail, mail["completed"]) == {}
    clock.advance(1)  # the first minute is more than an hour ago now
    assert at(see(queue, "1h"), see(queue, "1h")["completed"]) == {50 * MINUTE: 1}


@pytest.mark.parametrize("name", [None, "default"])
def test_the_past_is_known_as_far_back_as_each_range_goes(
    queue: Queue, clock: FakeClock, name: str | None
) -> None:
    job_in(queue.store, states.COMPLETED, "first", now=clock.now())
    for range_name, back in (("1h", HOUR), ("24h", DAY), ("7d", 7 * DAY), ("30d", 30 * DAY)):
        step = STEPS[range_name][0]
        clock.advance(START / 1000 + back - step - clock.now() / 1000)  # its step is the first of the range
        assert queue.store.history().fold(clock.now()) is True
        document = see(queue, range_name, name)
        assert document["completed"][0] == 1, range_name
        assert document["times"][0] == START // 1000
        clock.advance(step)
        assert sum(see(queue, range_name, name)["completed"]) == 0


def test_it_is_there_after_a_restart(engine: Engine, queue: Queue, clock: FakeClock) -> None:
    job_in(queue.store, states.COMPLETED, now=clock.now())
    queue.store.history().measured([("default", kind_of_class(RUN, 9), 1)], clock.now())
    before = see(queue, "1h")
    queue.store.close()
    again = Queue(engine.open(), Settings(), clock)
    assert see(again, "1h") == before
    assert at(before, before["completed"]) == {0: 1}


def test_percentiles_of_each_step(queue: Queue, clock: FakeClock) -> None:
    def measure(what: str, *seconds: float, name: str = "default") -> None:
        amounts = [(name, kind_of_class(what, class_of(round(s * 1000))), 1) for s in seconds]
        queue.store.history().measured(amounts, clock.now())

    measure(WAIT, *[0.1] * 90, *[10.0] * 10)
    measure(RUN, 2.0)
    clock.advance(MINUTE)
    measure(WAIT, 5.0, name="mail")
    document = see(queue, "1h")
    *_, first, second = zip(*document["wait"].values(), strict=True)
    assert first[0] == pytest.approx(0.1, rel=0.5)
    assert first[1] == pytest.approx(10.0, rel=0.5)
    assert second == (pytest.approx(5.0, rel=0.5), pytest.approx(5.0, rel=0.5))
    assert document["run"]["p50"][-2] == pytest.approx(2.0, rel=0.5)
    assert document["run"]["p50"][-1] is None
    assert see(queue, "1h", "mail")["wait"]["p50"][-2:] == [None, second[0]]
    (joined,) = [p95 for p95 in see(queue, "7d")["wait"]["p95"] if p95 is not None]
    assert joined == pytest.approx(10.0, rel=0.5)


def test_depths_are_averages_of_samples(queue: Queue, clock: FakeClock) -> None:
    store = queue.store
    add(store, "a", "b", queue="mail", now=clock.now())
    add(store, "c", now=clock.now())
    store.history().sample(clock.now())
    clock.advance(MINUTE)
    store.cancel(JobFilter(queue="mail"), clock.now())
    store.history().sample(clock.now())
    clock.advance(2 * MINUTE)  # nobody was there in between
    hour, mail = see(queue, "1h"), see(queue, "1h", "mail")
    assert hour["depth"]["pending"][-4:] == [3, 1, None, None]
    assert mail["depth"]["pending"][-4:] == [2, 0, None, None]
    assert hour["depth"]["dead"][-4:] == [0, 0, None, None]
    assert see(queue, "24h")["depth"]["pending"][-1] == 2
    assert see(queue, "24h", "mail")["depth"]["pending"][-1] == 1
    assert see(queue, "24h", "nobody")["depth"]["pending"][-1] == 0


def test_upkeep_takes_samples_and_moves_what_has_passed(queue: Queue, clock: FakeClock) -> None:
    """As a worker's heart calls it: every few seconds."""
    add(queue.store, "a", now=clock.now())
    keeper = Bookkeeper()
    for _ in range(12 * 20):
        keeper(queue.store, queue.settings, clock.now())
        clock.advance(5)
    document = see(queue, "1h")
    assert at(document, document["depth"]["pending"]) == {MINUTE * n: 1 for n in range(1, 20)}
    assert at(document, document["enqueued"]) == {0: 1}
    db = queue.store.connection  # type: ignore[attr-defined]
    assert db.all("SELECT 1 FROM tallies WHERE minute > 0") == []


def test_a_job_that_is_tried_again_is_told_by_its_attempts(queue: Queue, clock: FakeClock) -> None:
    add(queue.store, "a", max_retries=1, now=clock.now())
    seq = get(queue.store, "a").seq
    finish_with(queue.store, claim_one(queue.store, only=seq, now=clock.now()), kinds.FAILED, now=clock.now())
    clock.advance(30 * MINUTE)
    finish_with(queue.store, claim_one(queue.store, only=seq, now=clock.now()), kinds.FAILED, now=clock.now())
    document = see(queue, "1h")
    assert at(document, document["failed"]) == {0: 1}
    assert at(document, document["dead"]) == {30 * MINUTE: 1}

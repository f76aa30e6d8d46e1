"""Very many queues: a hundred names and the sum of the others, which never falls either."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from tests.metrics.scrapes import Pool, Scrape, assert_never_fell
from tests.support.jobs import NOW, add, new_job

from queuectl.config.settings import Settings
from queuectl.core.states import PENDING
from queuectl.metrics.naming import MOST, OTHERS, Naming
from queuectl.queue import Queue
from queuectl.store.figures import REST
from queuectl.store.messages import JobFilter
from queuectl.store.tallies import ENQUEUED
from queuectl.testing import FakeClock

ENQUEUED_TOTAL = "queuectl_jobs_enqueued_total"


_numbers = count()


def fill(store: Any, queue: str, jobs: int) -> None:
    add(store, *(f"job-{next(_numbers)}" for _ in range(jobs)), queue=queue)


@pytest.fixture
def queue(store: Any) -> Queue:
    return Queue(store, Settings(), FakeClock(NOW))


@pytest.fixture
def bomb(store: Any) -> None:
    """10,000 names with a job each; the last three have more."""
    jobs = [new_job(f"j{n}", queue=f"q{n:05}") for n in range(10_000)]
    store.enqueue([jobs[start : start + 1_000] for start in range(0, 10_000, 1_000)], NOW)
    for n in (9_997, 9_998, 9_999):
        fill(store, f"q{n:05}", 3)


def test_ten_thousand_names_are_a_hundred_labels(queue: Queue, bomb: None) -> None:
    scrape = Scrape(queue)
    for name in ("queuectl_jobs", ENQUEUED_TOTAL, "queuectl_jobs_finished_total"):
        labels = scrape.queues(name)
        assert len(labels) == MOST + 1
        assert {"q09997", "q09998", "q09999", OTHERS} <= labels
    assert len(scrape.samples) < 3_000
    pending = [
        v for (n, ls), v in scrape.samples.items() if n == "queuectl_jobs" and ("state", PENDING) in ls
    ]
    assert sum(pending) == 10_009
    assert sum(v for (n, _), v in scrape.samples.items() if n == ENQUEUED_TOTAL) == 10_009
    assert scrape.value(ENQUEUED_TOTAL, queue=OTHERS) == 10_009 - (MOST - 3) - 3 * 4


def test_a_dashboard_counts_the_others_from_its_start(queue: Queue, store: Any, bomb: None) -> None:
    pool = Pool()
    scrapes = [Scrape(queue, pool)]
    assert scrapes[0].value(ENQUEUED_TOTAL, queue=OTHERS) == 0
    fill(store, "q05000", 2)
    fill(store, "brand-new", 5)
    scrapes.append(Scrape(queue, pool))
    assert scrapes[1].queues(ENQUEUED_TOTAL) == scrapes[0].queues(ENQUEUED_TOTAL)
    assert scrapes[1].value(ENQUEUED_TOTAL, queue=OTHERS) == 7
    assert scrapes[1].value("queuectl_jobs", queue=OTHERS, state=PENDING) == 10_016 - (MOST - 3) - 3 * 4
    assert_never_fell(scrapes)


def test_a_queue_that_is_really_called_other_is_another(queue: Queue, store: Any) -> None:
    for n in range(MOST + 5):
        fill(store, f"q{n:03}", 2)
    fill(store, "other", 3)
    scrape = Scrape(queue)
    assert scrape.value(ENQUEUED_TOTAL, queue="other") == 3
    assert scrape.value(ENQUEUED_TOTAL, queue=OTHERS) == 2 * 6
    # Nobody can make one with the name of the sum; if another program does, it is counted among them.
    fill(store, OTHERS, 4)
    scrape = Scrape(queue)
    assert scrape.value(ENQUEUED_TOTAL, queue=OTHERS) == 2 * 6 + 4


def test_without_more_queues_than_names_nobody_speaks_of_others(queue: Queue, store: Any) -> None:
    fill(store, "a", 1)
    for pool in (None, Pool()):
        assert Scrape(queue, pool).queues(ENQUEUED_TOTAL) == {"a"}


class Few:
    """Two names at a time, scraped by hand."""

    def __init__(self, store: Any) -> None:
        self.store = store
        self.clock = FakeClock()
        self.naming = Naming(most=2, clock=self.clock.monotonic)
        self.last: dict[str, int] = {}

    def scrape(self) -> dict[str, int]:
        """What has come in, by label; the sum of the others has not fallen."""
        names, ever = self.naming.counted(self.store.figures())
        now = {name: ever.get(name, {}).get(ENQUEUED, 0) for name in (*names, REST)}
        assert now[REST] >= self.last.get(REST, 0)
        self.last = now
        return now


def test_names_are_chosen_anew_and_the_sum_of_the_others_goes_on(store: Any) -> None:
    few = Few(store)
    for name, jobs in (("a", 9), ("b", 8), ("c", 7), ("d", 1), ("e", 1), ("f", 1)):
        fill(store, name, jobs)
    assert few.scrape() == {"a": 9, "b": 8, REST: 0}
    fill(store, "c", 3)
    assert few.scrape() == {"a": 9, "b": 8, REST: 3}
    for name in "cdef":
        fill(store, name, 20)
    store.cancel(JobFilter(queue="a"), NOW)
    store.remove(JobFilter(queue="a"), sources=("cancelled",), limit=100)
    store.history().fold(NOW + 3_600_000)
    assert few.scrape() == {"a": 9, "b": 8, REST: 83}, "not yet"
    few.clock.advance(601)
    # c is the busiest now; a and b are not even among the first four, so d comes after it.
    assert few.scrape() == {"c": 30, "d": 21, REST: 83}
    fill(store, "e", 1)
    fill(store, "a", 2)
    assert few.scrape() == {"c": 30, "d": 21, REST: 86}


def test_who_has_a_name_keeps_it_while_it_is_among_the_busiest(store: Any) -> None:
    few = Few(store)
    for name, jobs in (("a", 9), ("b", 8), ("c", 7)):
        fill(store, name, jobs)
    few.scrape()
    fill(store, "c", 7)
    few.clock.advance(601)
    assert few.scrape() == {"a": 9, "b": 8, REST: 7}


def test_new_queues_are_named_at_once_while_there_is_room(store: Any) -> None:
    few = Few(store)
    fill(store, "a", 1)
    assert few.scrape() == {"a": 1, REST: 0}
    fill(store, "b", 1)
    assert few.scrape() == {"a": 1, "b": 1, REST: 0}
    fill(store, "c", 1)
    assert few.scrape() == {"a": 1, "b": 1, REST: 1}

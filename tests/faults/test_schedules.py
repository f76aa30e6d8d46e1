"""Schedules whose COMMIT gets no answer: fired once, whether it arrived, did not, or comes later."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest

from queuectl.config.settings import Settings
from queuectl.core.schedules import plan
from queuectl.core.spec import Defaults
from queuectl.queue import Queue
from queuectl.schedules import trigger
from queuectl.store.api import Store
from queuectl.testing import FakeClock
from tests.conformance.test_schedules import HOUR, fire, job_ids, put, schedule, stored
from tests.faults.trouble import KINDS, while_commit_is
from tests.support.jobs import NOW
from tests.support.proxy import Proxy
from tests.support.shared_queue import SharedQueue

T = TypeVar("T")
InTrouble = Callable[[Callable[[], T]], T]


@pytest.fixture(params=KINDS)
def in_trouble(request: pytest.FixtureRequest, proxy: Proxy, place: SharedQueue) -> InTrouble[object]:
    return lambda action: while_commit_is(request.param, proxy, place.url, action)


def test_a_time_is_fired_once(place: SharedQueue, store: Store, in_trouble: InTrouble[object]) -> None:
    put(place.store, schedule(overlap="allow"))
    assert in_trouble(lambda: fire(store)) == NOW + HOUR
    assert job_ids(place.store) == ["s-20270115T080000Z"]
    found = stored(place.store)
    assert (found.fired, found.skipped, found.next_at) == (1, 0, NOW + HOUR)


def test_who_has_fired_knows_it(place: SharedQueue, store: Store, in_trouble: InTrouble[object]) -> None:
    """Or the workers would not be told that there is something to do."""
    put(place.store, schedule(overlap="allow"))
    before = stored(place.store)
    planned = plan(before, Defaults(now=NOW))
    assert planned is not None
    made = in_trouble(
        lambda: store.schedules().fire(
            before, jobs=planned.jobs, next_at=planned.next_at, last_at=planned.last_at, skipped=0, now=NOW
        )
    )
    assert made == ["s-20270115T080000Z"]


def test_a_trigger_makes_one_job(place: SharedQueue, store: Store, in_trouble: InTrouble[object]) -> None:
    put(place.store, schedule(overlap="skip", next_at=NOW + HOUR))
    in_trouble(lambda: trigger(Queue(store, Settings(), FakeClock(NOW)), "s"))
    assert len(job_ids(place.store)) == 1
    assert stored(place.store).fired == 1


def test_a_schedule_is_added_once(place: SharedQueue, store: Store, in_trouble: InTrouble[object]) -> None:
    assert place.store.schedules().all() == []
    in_trouble(lambda: put(store, schedule()))
    assert [one.name for one in place.store.schedules().all()] == ["s"]


def test_pausing_and_removing_tell_that_they_did_it(
    place: SharedQueue, store: Store, in_trouble: InTrouble[object]
) -> None:
    put(place.store, schedule())
    assert in_trouble(lambda: store.schedules().pause("s", NOW)) is True
    assert in_trouble(lambda: store.schedules().resume("s", NOW + HOUR, NOW)) is True
    assert in_trouble(lambda: store.schedules().replace(schedule(recurrence="@daily"))) is True
    assert in_trouble(lambda: store.schedules().remove("s")) is True
    assert place.store.schedules().all() == []

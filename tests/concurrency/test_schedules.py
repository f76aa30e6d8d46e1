"""Processes that fire the same schedules at the same moment: every time once, none left out."""

from __future__ import annotations

import pytest
from tests.concurrency.leaders import leader
from tests.conformance.test_schedules import job_ids, put, schedule
from tests.support.engines import Place, on_engines
from tests.support.jobs import NOW
from tests.support.together import run_together

pytestmark = on_engines(long=["mysql"])
SECONDS = 60


@pytest.mark.parametrize("catch_up", ["one", "all"])
def test_two_leaders_never_fire_the_same_time_twice(place: Place, catch_up: str) -> None:
    store = place.open()
    put(store, schedule(recurrence="@every 1s", catch_up=catch_up, overlap="allow"))
    fired = run_together([(leader, (place, NOW, SECONDS)) for _ in range(2)])
    ids = job_ids(store)
    assert len(ids) == len(set(ids)) == sum(fired)
    (found,) = store.schedules().all()
    assert found.fired == len(ids)
    assert found.fired + found.skipped == SECONDS, "each time was fired or left out"
    assert found.skipped == 0 or catch_up == "one", "one that is late leaves out what came before"
    assert found.next_at == NOW + SECONDS * 1_000
    store.close()

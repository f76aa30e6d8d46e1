"""Many processes that bring jobs in, or make the database, at the same moment."""

from __future__ import annotations

import os

import pytest
from tests.concurrency.roles import EVERYTHING, bulk_enqueuer, creator, enqueuer_of_one
from tests.support.engines import Place, on_engines
from tests.support.together import run_together

pytestmark = on_engines(long=["mysql"])


@pytest.mark.parametrize("skip", [False, True])
def test_of_many_that_enqueue_one_id_exactly_one_succeeds(place: Place, skip: bool) -> None:
    store = place.open()
    new = run_together([(enqueuer_of_one, (place, f"p{n}", skip)) for n in range(12)])
    assert sorted(new) == [0] * 11 + [1]
    (job,) = store.page(EVERYTHING, limit=5)
    assert job.command == f"p{new.index(1)}"
    store.close()


@pytest.mark.parametrize("attempt", [1, *(pytest.param(n, marks=pytest.mark.long) for n in range(2, 10))])
def test_a_new_database_can_be_made_by_many_at_once(place: Place, attempt: int) -> None:
    names = run_together([(creator, (place, f"p{n}")) for n in range(10)])
    store = place.open()
    assert sorted(job.id for job in store.page(EVERYTHING, limit=50)) == sorted(names)
    left = os.listdir(place.directory)
    assert not [name for name in left if "before" in name], "there was nothing to back up"
    store.close()


@pytest.mark.parametrize("each", [1_000, pytest.param(10_000, marks=pytest.mark.long)])
def test_jobs_without_ids_never_meet(place: Place, each: int) -> None:
    made = run_together([(bulk_enqueuer, (place, each)) for _ in range(4)])
    everyone = [id for ids in made for id in ids]
    assert len(set(everyone)) == 4 * each
    store = place.open()
    assert store.count(EVERYTHING) == 4 * each
    store.close()

"""Many processes on one queue: no job twice, none lost, whoever dies in between."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.concurrency.roles import (
    EVERYTHING,
    burier,
    claimer,
    heart,
    mortal_claimer,
    now,
)
from tests.support.engines import Place, on_engines
from tests.support.jobs import new_job
from tests.support.together import run_together

from queuectl.store.messages import JobFilter

pytestmark = on_engines(long=["mysql"])


@pytest.mark.parametrize("count", [600, pytest.param(5_000, marks=pytest.mark.long)])
def test_claimers_at_once_take_every_job_exactly_once(place: Place, count: int) -> None:
    store = place.open()
    jobs = [new_job(f"j{n:04d}", queue=f"q{n % 3}", priority=n % 5) for n in range(count)]
    store.enqueue([jobs], now())
    claimers = [(claimer, (place, f"w{n}", 1 + 3 * n)) for n in range(6)]
    taken = [id for ids in run_together(claimers) for id in ids]
    assert len(taken) == len(set(taken)) == count
    assert store.count(JobFilter(states=("completed",))) == count
    stored = store.page(EVERYTHING, limit=count)
    assert {(job.attempts, job.runs, job.claim) for job in stored} == {(1, 1, None)}
    records = store.connection.all("SELECT job_seq FROM attempts ORDER BY job_seq")  # type: ignore[attr-defined]
    assert [seq for (seq,) in records] == [job.seq for job in stored]
    store.close()


@pytest.mark.parametrize("deaths", [3, pytest.param(15, marks=pytest.mark.long)])
def test_claimers_that_are_being_buried_complete_every_job_once(place: Place, deaths: int) -> None:
    store = place.open()
    claimers = [(mortal_claimer, (place, f"w{n}", deaths)) for n in range(3)]
    *results, buried, _ = run_together([*claimers, (burier, (place, 3)), (heart, (place, 3, "w0"))])
    completed = Counter(id for ids in results for id in ids)
    assert set(completed.values()) == {1}, "completed once, as far as the workers know"
    assert buried >= 3 * deaths
    jobs = store.page(EVERYTHING, limit=100_000)
    assert {job.id for job in jobs} == set(completed)
    assert {job.state for job in jobs} == {"completed"}
    for job in jobs:
        outcomes = [attempt.outcome for attempt in store.attempts(job.seq)]
        assert outcomes.count("succeeded") == 1
        assert outcomes[-1] == "succeeded"
        assert outcomes.count("lost") == job.lost
        assert job.runs == job.attempts == len(outcomes)
    store.close()

"""Very many jobs due at once, very many that want one id, very wide and deep graphs (B60, B62, B63, B66)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.concurrency.floods import enqueuers_of_one, looked_at
from tests.concurrency.roles import EVERYTHING
from tests.support.engines import Place, on_engines
from tests.support.jobs import NOW, add, claim, claim_one, described, finish, new_job, register, report
from tests.support.together import run_together

from queuectl.core import states
from queuectl.errors import InvalidInput
from queuectl.store.messages import JobFilter

FEW, MANY = 2_000, 50_000
LATER = NOW + 10_000


def put_many(store: Any, prefix: str, count: int, **fields: Any) -> None:
    parts = (range(start, min(start + 1_000, count)) for start in range(0, count, 1_000))
    store.enqueue([[new_job(f"{prefix}{n}", **fields) for n in part] for part in parts], NOW)


@on_engines(long=["mysql"])
@pytest.mark.proof
def test_fifty_thousand_that_are_due_at_once_do_not_make_a_claim_dearer(place: Place) -> None:
    store: Any = place.open()
    register(store)
    put_many(store, "few", FEW, run_at=NOW + 1_000)
    claim(store, 10, now=LATER)  # whatever is only done the first time
    few = looked_at(store, lambda: claim(store, 10, now=LATER))
    put_many(store, "many", MANY, run_at=NOW + 1_000)
    many = max(looked_at(store, lambda: claim(store, 10, now=LATER)) for _ in range(5))
    assert many < 3 * few, (few, many)
    add(store, "urgent", priority=1, now=LATER)
    assert claim_one(store, now=LATER).id == "urgent", "a new urgent job is the next one"
    store.close()


@on_engines(long=["mysql"])
@pytest.mark.proof
def test_an_urgent_job_is_next_however_many_wait(place: Place) -> None:
    """And in each class, whoever has waited longest: a trickle of new ones passes nobody of its own class."""
    store: Any = place.open()
    register(store)
    put_many(store, "low", MANY, priority=-1)
    few = looked_at(store, lambda: claim(store, 1))
    for number in range(5):
        add(store, f"high{number}", priority=1)
        add(store, f"new{number}", priority=-1)
        assert looked_at(store, lambda: claim(store, 1)) < 3 * few + 100
    claimed = {job.id for job in store.claimed_by("w1")}
    assert claimed == {"low0", *(f"high{number}" for number in range(5))}
    assert [job.id for job in claim(store, 3)] == ["low1", "low2", "low3"]
    store.close()


@on_engines(long=["mysql"])
@pytest.mark.proof
@pytest.mark.parametrize("skip", [False, True])
def test_of_fifty_that_enqueue_one_id_exactly_one_succeeds(place: Place, skip: bool) -> None:
    store: Any = place.open()
    new = run_together([(enqueuers_of_one, (place, f"p{n}", 10, skip)) for n in range(5)])
    assert sum(new) == 1
    (job,) = store.page(EVERYTHING, limit=5)
    assert job.command.startswith(f"p{new.index(1)}-")
    store.close()


@on_engines(long=["mysql"])
@pytest.mark.proof
def test_ten_thousand_wait_for_one_and_ten_thousand_for_each_other(place: Place) -> None:
    store: Any = place.open()
    register(store)
    store.enqueue([[described("root"), *(described(f"w{n}", after="root") for n in range(10_000))]], NOW)
    finish(store, report(claim_one(store)))
    store.settle(NOW)
    assert store.count(JobFilter(states=(states.PENDING,))) == 10_000
    depth = 10_000 if place.url is None else 1_000  # level by level; each is some round trips to a server
    chain = [described("d0"), *(described(f"d{n}", after=f"d{n - 1}") for n in range(1, depth))]
    store.enqueue([chain], NOW)
    assert store.count(JobFilter(states=(states.BLOCKED,))) == depth - 1
    store.cancel(JobFilter(ids=("d0",)), NOW)
    store.settle(NOW)
    assert store.count(JobFilter(states=(states.CANCELLED,))) == depth
    assert store.count(JobFilter(states=(states.BLOCKED,))) == 0, "somebody waits for ever"
    store.close()


edges = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=10, unique=True)


def test_any_graph_is_refused_if_and_only_if_it_has_a_circle(place: Place) -> None:
    """What is accepted comes to its end: nobody waits for ever."""
    store: Any = place.open()
    store.relax_durability()
    register(store)
    made = iter(range(1_000_000))

    @settings(max_examples=30, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(edges)
    def run(edges: list[tuple[int, int]]) -> None:
        name = f"g{next(made)}-"
        after: dict[int, list[str]] = {}
        for child, parent in edges:
            after.setdefault(child, []).append(f"{name}{parent}")
        try:
            batch = [described(f"{name}{n}", **({"after": after[n]} if n in after else {})) for n in range(7)]
            store.enqueue([batch], NOW)
        except InvalidInput:
            assert not in_order(edges)
            return
        assert in_order(edges)
        while jobs := claim(store, 10):
            finish(store, *map(report, jobs))
            store.settle(NOW)
        assert store.unfinished(EVERYTHING) == 0

    try:
        run()
    finally:
        store.close()


def in_order(edges: list[tuple[int, int]]) -> list[int] | None:
    """All seven in an order in which each comes after those that it waits for; None if there is none."""
    order: list[int] = []
    while len(order) < 7:
        free = [n for n in range(7) if n not in order and all(p in order for c, p in edges if c == n)]
        if not free:
            return None
        order += free
    return order

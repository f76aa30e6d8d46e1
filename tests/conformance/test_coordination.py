"""Workers as the store knows them: leases, orders, death that is final, and rescue."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.support.jobs import (
    NOW,
    add,
    claim,
    claim_one,
    finish,
    finish_with,
    get,
    ids,
    register,
    report,
    some_worker,
    stored_worker,
)

from queuectl import system
from queuectl.app import workers_at_work
from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.errors import StoreError, WorkerFenced
from queuectl.store.messages import WORKER_COLUMNS, JobFilter
from queuectl.testing import wait_until

if TYPE_CHECKING:
    from tests.support.stores import Engine

    from queuectl.store.api import Store


def test_a_worker_comes_back_as_it_was_registered(store: Store) -> None:
    worker = register(store, queues="a,b", supervisor=99, concurrency=8)
    stored = stored_worker(store)
    for name in WORKER_COLUMNS:
        assert getattr(stored, name) == getattr(worker, name), name


def test_workers_are_listed_by_their_start(store: Store) -> None:
    register(store, "w3", started_at=NOW)
    register(store, "w1", started_at=NOW + 1)
    register(store, "w2", started_at=NOW)
    assert [worker.id for worker in store.workers()] == ["w2", "w3", "w1"]


def test_an_id_of_a_worker_is_taken_only_once(store: Store) -> None:
    register(store)
    with pytest.raises(StoreError):
        store.register(some_worker("w1"), 1_000)
    assert len(store.workers()) == 1


def test_a_lease_counts_by_the_clock_of_leases(store: Store) -> None:
    before = store.lease_clock()
    worker = register(store, lease_ms=30_000)
    after = store.lease_clock()
    assert before + 30_000 <= worker.lease_until <= after + 30_000
    assert stored_worker(store).lease_until == worker.lease_until


def test_the_clock_of_leases_moves_and_is_the_same_for_all(engine: Engine, store: Store) -> None:
    start = store.lease_clock()
    wait_until(lambda: engine.open().lease_clock() > start, what="the lease clock")
    assert engine.open().lease_clock() <= store.lease_clock()


def test_a_heartbeat_renews_the_lease_and_says_how_it_goes(store: Store) -> None:
    first = register(store, lease_ms=10)
    orders = store.heartbeat("w1", 60_000, 2, NOW + 5_000)
    stored = stored_worker(store)
    assert stored.lease_until >= first.lease_until + 59_000
    assert (stored.seen_at, stored.running, stored.state) == (NOW + 5_000, 2, "alive")
    assert (orders.control, list(orders.cancel)) == (None, [])


def test_a_worker_is_buried_if_its_lease_is_still_the_one_that_was_read(store: Store) -> None:
    register(store)
    assert store.bury(stored_worker(store))
    assert stored_worker(store).state == "dead"


def test_a_worker_that_renewed_meanwhile_is_not_buried(engine: Engine, store: Store) -> None:
    register(store, lease_ms=10)
    read = stored_worker(store)
    engine.open().heartbeat("w1", 60_000, 0, NOW)
    assert not store.bury(read)
    assert stored_worker(store).state == "alive"


def test_burying_again_goes_through_so_that_a_half_done_rescue_is_finished(store: Store) -> None:
    register(store)
    read = stored_worker(store)
    assert store.bury(read)
    assert store.bury(read)
    assert store.bury(stored_worker(store))


def test_a_worker_that_is_gone_altogether_cannot_be_buried(store: Store) -> None:
    assert not store.bury(some_worker("unknown"))
    assert list(store.workers()) == []


def test_dead_is_final(store: Store) -> None:
    register(store)
    store.bury(stored_worker(store))
    for _ in range(2):
        with pytest.raises(WorkerFenced):
            store.heartbeat("w1", 60_000, 0, NOW)
    assert stored_worker(store).state == "dead"


def test_a_worker_that_nobody_knows_is_fenced(store: Store) -> None:
    with pytest.raises(WorkerFenced):
        store.heartbeat("unknown", 60_000, 0, NOW)


def test_orders_name_the_running_jobs_that_somebody_wants_stopped(store: Store) -> None:
    register(store)
    register(store, "w2")
    add(store, "a", "b", "c", "waiting")
    claim_one(store)
    mine = claim_one(store)
    claim_one(store, worker_id="w2")
    store.cancel(JobFilter(ids=("b", "c", "waiting")), NOW)
    assert list(store.orders("w1").cancel) == [mine.seq]
    assert list(store.heartbeat("w1", 60_000, 2, NOW).cancel) == [mine.seq]
    finish_with(store, mine, kinds.CANCELLED)
    assert list(store.orders("w1").cancel) == []


def test_orders_carry_a_request_to_stop_to_the_workers_it_is_for(store: Store) -> None:
    for id in ("w1", "w2", "w3"):
        register(store, id)
    store.control(["w1", "w3", "unknown"], "drain")
    assert [store.orders(id).control for id in ("w1", "w2", "w3")] == ["drain", None, "drain"]
    store.control(["w1"], "now")
    assert store.heartbeat("w1", 60_000, 0, NOW).control == "now"
    store.control([], "now")
    assert store.orders("w2").control is None
    assert store.orders("unknown").control is None


def test_claimed_by_is_what_a_worker_holds_now(store: Store) -> None:
    register(store)
    register(store, "w2")
    add(store, "a", "b", "c", "d")
    first, _ = claim(store, 2)
    claim(store, 1, worker_id="w2")
    finish_with(store, first, kinds.SUCCEEDED)
    assert ids(list(store.claimed_by("w1"))) == ["b"]
    assert ids(list(store.claimed_by("w2"))) == ["c"]
    assert list(store.claimed_by("unknown")) == []


def test_claims_of_counts_what_each_worker_has_now(store: Store) -> None:
    for id in ("w1", "w2", "w3"):
        register(store, id)
    add(store, *(f"j{number}" for number in range(5)))
    held = claim(store, 3, worker_id="w1")
    claim(store, 1, worker_id="w3")
    assert store.claims_of(["w1", "w2", "w3", "nobody"], at_once=2) == {"w1": 3, "w3": 1}
    finish(store, report(held[0]), worker_id="w1")
    assert store.claims_of(["w1"]) == {"w1": 2}
    assert store.claims_of([]) == {}


def test_what_a_worker_runs_is_known_between_its_heartbeats(store: Store) -> None:
    """And what it has only claimed ahead does not count."""
    me = system.identify()
    assert me is not None
    here = {"host": system.hostname(), "identity": me.encode(), "pid": me.pid, "concurrency": 2}
    register(store, "w1", **here)
    register(store, "w2", **here, running=2)
    add(store, *(f"j{number}" for number in range(5)))
    held = claim(store, 3, worker_id="w1")
    assert {worker.id: worker.running for worker in workers_at_work(store)} == {"w1": 2, "w2": 0}
    finish(store, *map(report, held[:2]), worker_id="w1")
    assert {worker.id: worker.running for worker in workers_at_work(store)} == {"w1": 1, "w2": 0}


def test_a_dead_workers_jobs_are_freed_by_the_verdict_lost(engine: Engine, store: Store) -> None:
    register(store)
    add(store, "a", "b")
    held = claim(store, 2)
    rescuer = engine.open()
    assert rescuer.bury(stored_worker(rescuer))
    lost = [report(job, kinds.LOST, now=NOW + 9) for job in rescuer.claimed_by("w1")]
    assert finish(rescuer, *lost, now=NOW + 9) == []
    assert [get(store, id).state for id in "ab"] == [states.PENDING] * 2
    late = [report(job) for job in held]
    assert finish(store, *late) == late, "the worker wakes up and is too late"
    register(rescuer, "w2")
    assert ids(claim(rescuer, 5, worker_id="w2")) == ["a", "b"]


def test_two_rescuers_free_a_job_once(engine: Engine, store: Store) -> None:
    register(store)
    add(store, "a")
    claim_one(store)
    one, two = engine.open(), engine.open()
    assert one.bury(stored_worker(one))
    assert two.bury(stored_worker(two))
    first = [report(job, kinds.LOST, now=NOW + 1) for job in one.claimed_by("w1")]
    second = [report(job, kinds.LOST, now=NOW + 2) for job in two.claimed_by("w1")]
    assert finish(one, *first) == []
    assert finish(two, *second) == second
    job = get(store, "a")
    assert (job.lost, job.attempts, len(store.attempts(job.seq))) == (1, 1, 1)


def test_a_worker_is_forgotten_only_when_it_holds_no_job(store: Store) -> None:
    register(store)
    add(store, "a")
    job = claim_one(store)
    store.bury(stored_worker(store))
    store.forget("w1")
    assert stored_worker(store).state == "dead"
    finish_with(store, job, kinds.LOST)
    store.forget("w1")
    store.forget("w1")
    assert list(store.workers()) == []


def test_changed_tells_that_somebody_else_has_written(engine: Engine, store: Store) -> None:
    before = store.changed()
    add(engine.open(), "a")
    assert store.changed() != before


def test_suspects_are_those_gone_by_their_lease_and_the_next_of_this_machine(store: Store) -> None:
    here = system.hostname()
    for name in ("a", "c", "e"):
        register(store, name, host=here, lease_ms=600_000)
    register(store, "d", host="elsewhere", lease_ms=600_000)
    register(store, "f", host="elsewhere", lease_ms=-1_000)
    beyond = "d" if not store.location.shared else "e"  # of a file, all are here
    assert [worker.id for worker in store.suspects("c")] == ["f", beyond]
    assert [worker.id for worker in store.suspects("e")][1:] == (["a"] if store.location.shared else ["f"])
    assert [worker.id for worker in store.suspects("a")][1:] == ["c"]


def test_a_heartbeat_says_how_much_memory_the_worker_holds(store: Store) -> None:
    register(store)
    assert stored_worker(store).memory_kb is None
    store.heartbeat("w1", 30_000, 1, NOW, 43_210)
    assert stored_worker(store).memory_kb == 43_210
    store.heartbeat("w1", 30_000, 1, NOW)  # where a system cannot tell
    assert stored_worker(store).memory_kb is None

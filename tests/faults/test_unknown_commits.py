"""A COMMIT whose answer is lost: done once, whether it arrived, did not, or comes after the next try."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

import pytest

from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.core.lifecycle import Report
from queuectl.core.states import REMOVABLE, RETRYABLE
from queuectl.errors import OutcomeUnknown, StoreBusy
from queuectl.store.api import Store
from queuectl.store.messages import Ask, JobFilter
from queuectl.store.server import ServerStore
from queuectl.store.tallies import Tally
from tests.faults.trouble import KINDS, while_commit_is
from tests.support.jobs import (
    EVERYTHING,
    HOST,
    NOW,
    add,
    claim,
    claim_one,
    finish,
    get,
    ids,
    job_in,
    new_job,
    report,
    some_worker,
    stored_worker,
)
from tests.support.proxy import Proxy
from tests.support.shared_queue import SharedQueue

T = TypeVar("T")

ONE = JobFilter(ids=("j",))


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class InTrouble:
    """`in_trouble(lambda: …)` does it while its COMMIT has the trouble of this test."""

    def __init__(self, kind: str, proxy: Proxy, place: SharedQueue) -> None:
        self.kind, self.proxy, self.place = kind, proxy, place

    def __call__(self, action: Callable[[], T]) -> T:
        return while_commit_is(self.kind, self.proxy, self.place.url, action)


@pytest.fixture
def in_trouble(kind: str, proxy: Proxy, place: SharedQueue) -> InTrouble:
    return InTrouble(kind, proxy, place)


def in_state(store: Store, state: str) -> list[str]:
    return sorted(ids(list(store.page(JobFilter(states=(state,)), limit=100))))


def outcomes(store: Store, id: str) -> list[str]:
    return [attempt.outcome for attempt in store.attempts(get(store, id).seq)]


def share_a_shard(*stores: Store) -> None:
    for store in stores:
        assert isinstance(store, ServerStore)
        store.connection.tally = Tally(3)


# --- a worker's exchange --------------------------------------------------------------------------


def test_a_claim_is_made_once(direct: Store, store: Store, in_trouble: InTrouble) -> None:
    add(direct, "a", "b", "c", "d")
    first = in_trouble(lambda: claim(store, 2))
    assert ids(first) == ["a", "b"]
    assert [job.attempts for job in first] == [1, 1]
    assert in_state(direct, states.PROCESSING) == ["a", "b"]
    assert ids(claim(store, 4)) == ["c", "d"]
    assert finish(store, *map(report, first)) == []
    assert in_state(direct, states.COMPLETED) == ["a", "b"]


def test_results_and_the_next_claim_are_stored_once(
    direct: Store, store: Store, in_trouble: InTrouble
) -> None:
    add(direct, "a", "b", "c")
    done, failed = claim(store, 2)
    reports = [report(done), report(failed, kinds.FAILED)]
    answer = in_trouble(lambda: store.exchange("w1", HOST, reports, Ask("w1", "next", 2), NOW))
    assert (ids(answer.jobs), answer.stale) == (["c"], [])
    assert (get(direct, "a").state, outcomes(direct, "a")) == (states.COMPLETED, [kinds.SUCCEEDED])
    assert (get(direct, "b").state, outcomes(direct, "b")) == (states.FAILED, [kinds.FAILED])
    assert (get(direct, "c").claim, get(direct, "c").attempts) == ("next", 1)


def test_a_job_is_given_back_once(direct: Store, store: Store, in_trouble: InTrouble) -> None:
    add(direct, "j")
    unused = report(claim_one(store), kinds.UNSTARTED)
    in_trouble(lambda: store.exchange("w1", HOST, [unused], None, NOW))
    job = get(direct, "j")
    assert (job.state, job.attempts, job.runs, job.claim) == (states.PENDING, 0, 0, None)
    assert outcomes(direct, "j") == []


def test_the_verdict_of_a_rescuer_is_stored_once(direct: Store, store: Store, in_trouble: InTrouble) -> None:
    add(direct, "a", "b")
    lost: list[Report] = [report(job, kinds.LOST) for job in claim(store, 2)]
    assert in_trouble(lambda: finish(store, *lost)) == []
    assert in_state(direct, states.PENDING) == ["a", "b"]
    assert outcomes(direct, "a") == outcomes(direct, "b") == [kinds.LOST]


def test_a_claim_that_nobody_could_confirm_is_found_again(direct: Store, store: Store, proxy: Proxy) -> None:
    add(direct, "a", "b", "c")
    ask = Ask("w1", "mine", 2)
    store.be_patient(200)
    store.next_due()  # connects
    proxy.swallow_commit()
    proxy.refuse()
    with pytest.raises(OutcomeUnknown):
        store.exchange("w1", HOST, [], ask, NOW)
    proxy.refuse(False)
    ask.again = True
    assert ids(store.exchange("w1", HOST, [], ask, NOW).jobs) == ["a", "b"]
    assert in_state(direct, states.PROCESSING) == ["a", "b"]


def test_a_claim_that_was_never_stored_is_made_anew(direct: Store, store: Store, proxy: Proxy) -> None:
    """Its transaction stays open on the server until the wire breaks, and keeps its rows till then."""
    add(direct, "a", "b", "c")
    ask = Ask("w1", "mine", 2)
    store.be_patient(200)
    direct.be_patient(200)
    proxy.delay_commit(threading.Event())
    with pytest.raises(OutcomeUnknown):
        store.exchange("w1", HOST, [], ask, NOW)
    ask.again = True
    with pytest.raises(StoreBusy):
        store.exchange("w1", HOST, [], ask, NOW)
    assert ids(claim(direct, 3)) == ["c"]
    proxy.cut_all()
    assert ids(store.exchange("w1", HOST, [], ask, NOW).jobs) == ["a", "b"]


def test_a_client_that_hangs_keeps_the_counts_of_its_shard_from_nobody(
    direct: Store, store: Store, proxy: Proxy
) -> None:
    add(direct, "a", "b")
    share_a_shard(direct, store)
    store.be_patient(200)
    direct.be_patient(200)
    proxy.delay_commit(threading.Event())
    with pytest.raises(OutcomeUnknown):
        store.exchange("w1", HOST, [], Ask("w1", "mine", 1), NOW)
    assert ids(claim(direct, 2)) == ["b"]
    proxy.cut_all()


# --- workers --------------------------------------------------------------------------------------


def test_a_worker_registers_once(direct: Store, store: Store, in_trouble: InTrouble) -> None:
    in_trouble(lambda: store.register(some_worker("w2"), 30_000))
    worker = stored_worker(direct, "w2")
    assert 0 < worker.lease_until - worker.read_at <= 30_000
    assert len(list(direct.workers())) == 2


def test_a_heartbeat_renews_the_lease_and_brings_orders(
    direct: Store, store: Store, in_trouble: InTrouble
) -> None:
    before = stored_worker(direct).lease_until
    direct.control(["w1"], "drain")
    orders = in_trouble(lambda: store.heartbeat("w1", 60_000, 1, NOW))
    assert orders.control == "drain"
    assert stored_worker(direct).lease_until > before + 20_000


def test_a_worker_is_buried_and_forgotten(direct: Store, store: Store, in_trouble: InTrouble) -> None:
    assert in_trouble(lambda: store.bury(stored_worker(direct)))
    assert stored_worker(direct).state == "dead"
    store.forget("w1")
    assert list(direct.workers()) == []


# --- what a person asks for -----------------------------------------------------------------------


def test_a_waiting_job_is_cancelled(direct: Store, store: Store, in_trouble: InTrouble) -> None:
    add(direct, "j")
    assert in_trouble(lambda: store.cancel(ONE, NOW)) == (1, 0)
    assert get(direct, "j").state == states.CANCELLED


def test_a_running_job_is_asked_to_end(direct: Store, store: Store, in_trouble: InTrouble) -> None:
    job_in(direct, states.PROCESSING)
    assert in_trouble(lambda: store.cancel(ONE, NOW)) == (0, 1)
    assert store.orders("w1").cancel == [get(direct, "j").seq]


def test_a_dead_job_is_retried(direct: Store, store: Store, in_trouble: InTrouble) -> None:
    job_in(direct, states.DEAD)
    assert in_trouble(lambda: store.retry(ONE, NOW, sources=RETRYABLE)) == 1
    assert (get(direct, "j").state, get(direct, "j").attempts) == (states.PENDING, 0)


def test_a_job_is_removed_and_its_logs_are_named(direct: Store, store: Store, in_trouble: InTrouble) -> None:
    add(direct, "j")
    finish(direct, report(claim_one(direct), log="a-log"))
    assert in_trouble(lambda: store.remove(ONE, sources=REMOVABLE, limit=10)) == (1, ["a-log"])
    assert direct.get("j") is None


def test_a_setting_is_stored(direct: Store, store: Store, in_trouble: InTrouble) -> None:
    in_trouble(lambda: store.put_config("kill-grace", "7", NOW))
    assert direct.stored_config() == {"kill-grace": "7"}


# --- enqueue --------------------------------------------------------------------------------------


def test_one_job_is_enqueued_once(direct: Store, store: Store, in_trouble: InTrouble) -> None:
    assert in_trouble(lambda: store.enqueue([[new_job("j")]], NOW)) == 1
    assert direct.count(EVERYTHING) == 1


@pytest.mark.parametrize("count", [2, pytest.param(2_500, marks=pytest.mark.long)])
def test_many_jobs_are_enqueued_once(direct: Store, store: Store, in_trouble: InTrouble, count: int) -> None:
    batches = [
        [new_job(f"j{number}") for number in range(start, min(start + 1000, count))]
        for start in range(0, count, 1000)
    ]
    assert in_trouble(lambda: store.enqueue(batches, NOW)) == count
    assert direct.count(EVERYTHING) == count


def test_jobs_that_exist_are_skipped_and_the_others_counted(
    direct: Store, store: Store, in_trouble: InTrouble
) -> None:
    """Some had been there before: the last, so that it cannot tell whether the others came in."""
    add(direct, "old1", "old2", now=NOW - 1000)
    wanted = [new_job(id) for id in ("old1", "new1", "new2", "old2")]
    assert in_trouble(lambda: store.enqueue([wanted], NOW, skip=True)) == 2
    assert direct.count(EVERYTHING) == 4


def test_jobs_with_ids_of_our_own_making_are_not_stored_twice(
    direct: Store, store: Store, in_trouble: InTrouble
) -> None:
    add(direct, "old", now=NOW - 1000)
    wanted = [new_job("made", made=True), new_job("old")]
    assert in_trouble(lambda: store.enqueue([wanted], NOW, skip=True)) == 1
    assert direct.count(EVERYTHING) == 2


def test_who_cannot_be_told_can_ask_again(direct: Store, store: Store, proxy: Proxy) -> None:
    """The server does not come back in time: the error says so, and the same again is safe."""
    store.be_patient(200)
    store.next_due()  # connects
    proxy.swallow_commit()
    proxy.refuse()
    with pytest.raises(OutcomeUnknown, match="not known") as raised:
        store.enqueue([[new_job("a"), new_job("b")]], NOW)
    assert raised.value.exit_code == 3
    assert "--if-exists skip" in str(raised.value.hint)
    proxy.refuse(False)
    assert store.enqueue([[new_job("a"), new_job("b")]], NOW + 1, skip=True) == 0
    assert direct.count(EVERYTHING) == 2

"""Jobs that wait for others: when they run, when they cannot, and how that is undone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.support.jobs import (
    NOW,
    claim,
    claim_one,
    described,
    finish_with,
    get,
    ids,
    put,
    register,
    report,
    state_of,
)

from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.core.conditions import conditions
from queuectl.errors import InvalidInput
from queuectl.store.messages import Ask, JobFilter

if TYPE_CHECKING:
    from tests.support.stores import Engine

    from queuectl.store.api import Store

RETRYABLE = states.RETRYABLE


@pytest.fixture(autouse=True)
def _worker(store: Store) -> None:
    register(store)


def end(store: Store, id: str, state: str) -> None:
    """A pending job ends so."""
    if state == states.CANCELLED:
        store.cancel(JobFilter(ids=(id,)), NOW)
        store.settle(NOW)
        return
    job = next(job for job in claim(store, 100) if job.id == id)
    if state == states.COMPLETED:
        finish_with(store, job, kinds.SUCCEEDED)
    else:
        job.attempts = job.max_retries + 1
        finish_with(store, job, kinds.FAILED)
    store.settle(NOW)


def one(id: str) -> JobFilter:
    return JobFilter(ids=(id,))


@pytest.mark.parametrize(
    ("kind", "parent", "child"),
    [
        ("after", states.COMPLETED, states.PENDING),
        ("after", states.DEAD, states.CANCELLED),
        ("after", states.CANCELLED, states.CANCELLED),
        ("after_any", states.COMPLETED, states.PENDING),
        ("after_any", states.DEAD, states.PENDING),
        ("after_any", states.CANCELLED, states.PENDING),
        ("after_fail", states.COMPLETED, states.CANCELLED),
        ("after_fail", states.DEAD, states.PENDING),
        ("after_fail", states.CANCELLED, states.CANCELLED),
    ],
)
@pytest.mark.parametrize("enqueued", ["before its end", "after its end"])
def test_what_becomes_of_a_job_when_the_one_before_it_ends(
    store: Store, kind: str, parent: str, child: str, enqueued: str
) -> None:
    put(store, "p")
    if enqueued == "after its end":
        end(store, "p", parent)
        put(store, "c", **{kind: "p"})
    else:
        put(store, "c", **{kind: "p"})
        assert state_of(store, "c") == [states.BLOCKED]
        end(store, "p", parent)
    assert state_of(store, "p", "c") == [parent, child]
    if child == states.CANCELLED:
        assert get(store, "c").last_error == f"job p, which it waited for, is {parent}"


def test_a_job_waits_for_all_of_them(store: Store) -> None:
    for id in ("a", "b", "c"):
        put(store, id)
    put(store, "z", after=["a", "b"], after_any=["c"])
    for id, waits in (("b", 2), ("c", 1)):
        end(store, id, states.COMPLETED)
        # What else was claimed goes back.
        assert (get(store, "z").state, get(store, "z").waits) == (states.BLOCKED, waits)
        store.retry(JobFilter(states=(states.PROCESSING,)), NOW, sources=RETRYABLE)
        for job in store.claimed_by("w1"):
            finish_with(store, job, kinds.UNSTARTED)
    end(store, "a", states.COMPLETED)
    assert (get(store, "z").state, get(store, "z").waits) == (states.PENDING, None)


def test_a_worker_gets_the_child_with_the_answer_to_its_parent_s_result(store: Store) -> None:
    put(store, "p")
    put(store, "c", after="p")
    done = report(claim_one(store))
    answer = store.exchange("w1", "host1", [done], Ask("w1", "next", 5), NOW)
    assert ids(answer.jobs) == ["c"]


def test_a_retry_in_between_is_no_end(store: Store) -> None:
    put(store, "p")
    put(store, "c", after="p")
    finish_with(store, claim_one(store), kinds.FAILED)
    assert state_of(store, "p", "c") == [states.FAILED, states.BLOCKED]


def test_a_child_keeps_its_own_time(store: Store) -> None:
    put(store, "p")
    put(store, "c", after="p", delay="1h")
    end(store, "p", states.COMPLETED)
    assert (get(store, "c").state, get(store, "c").run_at) == (states.SCHEDULED, NOW + 3_600_000)


def test_what_cannot_be_met_goes_down_the_line_and_comes_back_with_a_retry(store: Store) -> None:
    put(store, "a")
    put(store, "b", after="a")
    put(store, "c", after="b")
    put(store, "d", after_any="c")
    end(store, "a", states.DEAD)
    assert state_of(store, "b", "c", "d") == [states.CANCELLED, states.CANCELLED, states.PENDING]
    assert store.retry(one("a"), NOW, sources=RETRYABLE) == 1
    store.settle(NOW)
    assert state_of(store, "a", "b", "c") == [states.PENDING, states.BLOCKED, states.BLOCKED]
    assert (get(store, "b").last_error, get(store, "b").finished_at, get(store, "b").waits) == (None, None, 1)
    for id in ("a", "b", "c"):
        end(store, id, states.COMPLETED)
    assert state_of(store, "b", "c") == [states.COMPLETED, states.COMPLETED]


def test_of_two_unmet_parents_both_have_to_be_retried(store: Store) -> None:
    put(store, "a")
    put(store, "b")
    put(store, "c", after=["a", "b"])
    store.cancel(JobFilter(ids=("a", "b")), NOW)
    store.settle(NOW)
    assert state_of(store, "c") == [states.CANCELLED]
    store.retry(one("a"), NOW, sources=RETRYABLE)
    store.settle(NOW)
    assert state_of(store, "c") == [states.CANCELLED]
    store.retry(one("b"), NOW, sources=RETRYABLE)
    store.settle(NOW)
    assert (get(store, "c").state, get(store, "c").waits) == (states.BLOCKED, 2)


def test_a_job_that_somebody_cancelled_stays_so_when_its_parent_is_retried(store: Store) -> None:
    put(store, "p")
    put(store, "c", after="p")
    store.cancel(one("c"), NOW)
    end(store, "p", states.DEAD)
    store.retry(one("p"), NOW, sources=RETRYABLE)
    store.settle(NOW)
    assert state_of(store, "c") == [states.CANCELLED]


def test_who_retries_a_waiting_job_wants_it_to_run_now(store: Store) -> None:
    put(store, "p")
    put(store, "c", after="p")
    store.cancel(one("p"), NOW)
    store.settle(NOW)
    store.retry(one("c"), NOW, sources=RETRYABLE)
    assert state_of(store, "c") == [states.PENDING]


def test_a_deleted_parent_is_no_reason_to_wait_for_ever(store: Store) -> None:
    put(store, "p")
    put(store, "c", after="p")
    put(store, "d", after_any="p")
    assert store.remove(one("p"), sources=states.REMOVABLE, limit=10)[0] == 1
    store.settle(NOW)
    assert state_of(store, "c", "d") == [states.CANCELLED, states.PENDING]
    assert get(store, "c").last_error == "a job that it waited for was deleted"


def test_deleting_a_child_leaves_nothing_behind(store: Store) -> None:
    put(store, "p")
    put(store, "c", after="p")
    store.remove(one("c"), sources=states.REMOVABLE, limit=10)
    end(store, "p", states.COMPLETED)
    assert store.links().children(get(store, "p").seq) == []


@pytest.mark.parametrize(
    ("jobs", "path"),
    [
        ([("a", ["b"]), ("b", ["a"])], "a → b → a"),
        ([("a", ["b"]), ("b", ["c"]), ("c", ["a"])], "a → b → c → a"),
        ([("x", []), ("a", ["x", "b"]), ("b", ["x", "c"]), ("c", ["b"])], "b → c → b"),
    ],
)
def test_a_circle_is_refused_with_its_path(
    store: Store, jobs: list[tuple[str, list[str]]], path: str
) -> None:
    with pytest.raises(InvalidInput, match=path):
        store.enqueue([[described(id, after=after) for id, after in jobs]], NOW)
    assert store.count(JobFilter()) == 0


def test_a_job_cannot_wait_for_one_that_does_not_exist(store: Store) -> None:
    with pytest.raises(InvalidInput, match="job a waits for b, which does not exist"):
        put(store, "a", after="b")
    assert store.count(JobFilter()) == 0


def test_of_two_that_want_to_wait_for_each_other_the_first_is_refused(store: Store, engine: Engine) -> None:
    """No circle can come of a race: nobody can name a job that does not exist yet."""
    other = engine.open()
    for who, id, before in ((store, "a", "b"), (other, "b", "a")):
        with pytest.raises(InvalidInput):
            put(who, id, after=before)


def test_local_names_are_forgotten_and_win_over_ids(store: Store) -> None:
    put(store, "build")
    jobs = [described("j1", name="build"), described("j2", after="build"), described("j3", after=["j1"])]
    store.enqueue([jobs], NOW)
    (parent,) = store.links().parents(get(store, "j2").seq)
    assert (parent.id, parent.kind, parent.settled) == ("j1", "success", None)
    with pytest.raises(InvalidInput, match="two jobs are named"):
        store.enqueue([[described("k1", name="n"), described("k2", name="n")]], NOW)


def test_a_wide_and_a_deep_graph_settle_in_steps(store: Store) -> None:
    wide = [described("root"), *(described(f"w{n}", after="root") for n in range(1_200))]
    store.enqueue([wide], NOW)
    end(store, "root", states.COMPLETED)
    assert store.stats(NOW, window_ms=1).counts[states.PENDING] == 1_200
    deep = [described("d0"), *(described(f"d{n}", after=f"d{n - 1}") for n in range(1, 300))]
    store.enqueue([deep], NOW)
    store.cancel(one("d0"), NOW)
    store.settle(NOW)
    assert store.stats(NOW, window_ms=1).counts[states.CANCELLED] == 300


def test_an_exchange_settles_only_so_much_and_asks_to_come_again(store: Store) -> None:
    wide = [described("root"), *(described(f"w{n}", after="root") for n in range(3_000))]
    store.enqueue([wide], NOW)
    done = report(claim_one(store))
    answer = store.exchange("w1", "host1", [done], Ask("w1", "next", 1), NOW)
    assert (len(answer.jobs), answer.next_due) == (1, NOW)
    assert store.stats(NOW, window_ms=1).counts[states.BLOCKED] == 1_000


def test_the_end_of_a_parent_and_the_coming_of_a_child_do_not_miss_each_other(
    store: Store, engine: Engine
) -> None:
    """Whichever is first, the child runs: tried in both orders, with two connections."""
    other = engine.open()
    for n in range(10):
        put(store, f"p{n}")
        job = claim_one(store)
        if n % 2:
            put(other, f"c{n}", after=f"p{n}")
            finish_with(store, job, kinds.SUCCEEDED)
        else:
            finish_with(store, job, kinds.SUCCEEDED)
            put(other, f"c{n}", after=f"p{n}")
        store.settle(NOW)
        assert state_of(store, f"c{n}") == [states.PENDING]
        finish_with(store, claim_one(store), kinds.SUCCEEDED)


class TestSkippedById:
    """`--if-exists skip`: a job that exists stays as it is, and so does who waits for whom."""

    def test_a_repeat_changes_nothing(self, store: Store) -> None:
        put(store, "a")
        for new in (1, 0):
            assert store.enqueue([[described("b", after="a", group="g")]], NOW, skip=True) == new
        assert get(store, "b").waits == 1

    def test_no_circle_comes_of_it(self, store: Store) -> None:
        put(store, "a", hold=True)
        put(store, "b", after="a")
        assert store.enqueue([[described("a", after="b")]], NOW, skip=True) == 0
        assert store.links().parents(get(store, "a").seq) == []

    def test_what_would_follow_it_is_skipped_with_it(self, store: Store) -> None:
        put(store, "a")
        skipped, follower = described("a", hold=True), described("f")
        conditions(follower).after.append(("success", skipped))
        follower.made = True
        assert store.enqueue([[skipped, follower, described("z")]], NOW, skip=True) == 1
        assert store.get("f") is None

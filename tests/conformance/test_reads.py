"""Looking at jobs: get, pages, every filter, sorting, counts, attempts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.support.jobs import (
    EVERYTHING,
    NOW,
    REACHABLE,
    add,
    claim_one,
    finish_with,
    get,
    ids,
    job_in,
    new_job,
    register,
)

from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.errors import InvalidInput
from queuectl.store.filters import MOST_IDS
from queuectl.store.messages import JobFilter

if TYPE_CHECKING:
    from queuectl.store.api import Store


@pytest.fixture(autouse=True)
def _worker(store: Store) -> None:
    register(store)


def found(store: Store, **filter: object) -> list[str]:
    """The ids that match; the count must say the same."""
    wanted = JobFilter(**filter)  # type: ignore[arg-type]
    jobs = store.page(wanted, limit=1_000)
    assert store.count(wanted) == len(jobs)
    return ids(jobs)


def test_a_job_that_is_not_there_is_none(store: Store) -> None:
    assert store.get("missing") is None
    assert store.get("") is None
    assert store.get("' OR 1=1 --") is None


def test_a_page_is_oldest_first_and_can_be_turned_around(store: Store) -> None:
    add(store, "b", "c", "a")
    assert ids(store.page(EVERYTHING, limit=10)) == ["b", "c", "a"]
    assert ids(store.page(EVERYTHING, limit=10, descending=True)) == ["a", "c", "b"]
    assert ids(store.page(EVERYTHING, limit=1, offset=1)) == ["c"]
    assert store.page(EVERYTHING, limit=0) == []


@pytest.mark.parametrize("descending", [False, True])
def test_paging_by_key_sees_every_job_once_though_others_come_and_go(store: Store, descending: bool) -> None:
    add(store, *(f"j{n}" for n in range(9)))
    seen: list[str] = []
    after = None
    while page := store.page(EVERYTHING, limit=2, after=after, descending=descending):
        seen += ids(page)
        after = page[-1].seq
        store.remove(JobFilter(ids=(page[0].id,)), sources=states.REMOVABLE, limit=1)
        if descending:
            add(store, f"new{len(seen)}")
    expected = [f"j{n}" for n in range(9)]
    assert seen == (expected[::-1] if descending else expected)


def test_filters_by_state(store: Store) -> None:
    for state in REACHABLE:
        job_in(store, state, id=state)
    for state in REACHABLE:
        assert found(store, states=(state,)) == [state]
    assert found(store, states=("dead", "pending")) == ["pending", "dead"]
    assert sorted(found(store)) == sorted(REACHABLE)


def test_filters_by_id_queue_and_time(store: Store) -> None:
    add(store, "a", queue="x", now=NOW)
    add(store, "b", queue="y", now=NOW + 10)
    add(store, "c", queue="x", now=NOW + 20)
    assert found(store, ids=("c", "a", "missing")) == ["a", "c"]
    assert found(store, queue="x") == ["a", "c"]
    assert found(store, queue="X") == []
    assert found(store, created_after=NOW + 10) == ["b", "c"]
    assert found(store, created_before=NOW + 10) == ["a"]
    assert found(store, created_after=NOW + 1, created_before=NOW + 20) == ["b"]
    assert found(store, queue="x", ids=("b", "c")) == ["c"]


def test_filters_by_a_whole_tag(store: Store) -> None:
    add(store, "one", tags=",night,gpu,")
    add(store, "two", tags=",nightly,")
    add(store, "three")
    assert found(store, tag="night") == ["one"]
    assert found(store, tag="gpu") == ["one"]
    assert found(store, tag="n%") == []
    assert found(store, tag="nigh_") == []
    assert found(store, tag="t,g") == []


def test_filters_by_text_in_command_or_id(store: Store) -> None:
    add(store, "alpha", command="make report")
    add(store, "report-7", command="true")
    add(store, "beta", command="echo")
    assert found(store, text="report") == ["alpha", "report-7"]
    assert found(store, text="lph") == ["alpha"]
    assert found(store, text="nothing like it") == []
    assert found(store, text="") == ["alpha", "report-7", "beta"]


@pytest.mark.parametrize("sign", ["%", "_", "!", "!%", "\\", "'", '"', "[a]", "*", "?"])
def test_signs_that_mean_something_to_a_database_are_literal_text(store: Store, sign: str) -> None:
    add(store, "with", command=f"a{sign}b")
    add(store, "without", command="axxb")
    assert found(store, text=f"a{sign}b") == ["with"]
    assert found(store, text=sign) == ["with"]


def test_sorting(store: Store) -> None:
    store.enqueue(
        [
            [
                new_job("c", priority=5, run_at=NOW + 30),
                new_job("a", priority=9, run_at=NOW + 40),
                new_job("b", priority=5, run_at=NOW + 10),
            ]
        ],
        NOW,
    )
    for sort, expected in {
        "created": ["c", "a", "b"],
        "id": ["a", "b", "c"],
        "priority": ["c", "b", "a"],
        "due": ["b", "c", "a"],
    }.items():
        assert ids(store.page(EVERYTHING, limit=9, sort=sort)) == expected
        turned = store.page(EVERYTHING, limit=9, sort=sort, descending=True)
        assert ids(turned) == expected[::-1]


def test_sorting_by_the_times_of_change_and_end(store: Store) -> None:
    for n, id in enumerate(["x", "y", "z"]):
        add(store, id)
        finish_with(store, claim_one(store), kinds.SUCCEEDED, now=NOW + 100 - n)
    assert ids(store.page(EVERYTHING, limit=9, sort="finished")) == ["z", "y", "x"]
    assert ids(store.page(EVERYTHING, limit=9, sort="updated")) == ["z", "y", "x"]


@pytest.mark.parametrize("sort", ["", "seq; DROP TABLE jobs", "rowid"])
def test_an_unknown_order_is_refused(store: Store, sort: str) -> None:
    with pytest.raises(InvalidInput, match="cannot sort by"):
        store.page(EVERYTHING, limit=1, sort=sort)


def test_more_ids_than_a_statement_can_hold(store: Store) -> None:
    add(store, "a", "b")
    job_in(store, states.COMPLETED, id="done")
    many = JobFilter(ids=("a", *(f"x{n}" for n in range(MOST_IDS)), "b", "done", "a"))
    assert store.count(many) == 3
    assert store.unfinished(many) == 2


def test_unfinished_counts_what_has_not_ended(store: Store) -> None:
    for state in REACHABLE:
        job_in(store, state, id=state)
    assert store.unfinished(EVERYTHING) == len(REACHABLE) - len(states.TERMINAL)
    assert store.unfinished(JobFilter(states=states.TERMINAL)) == 0
    assert store.unfinished(JobFilter(ids=("pending", "dead", "missing"))) == 1


def test_stats_count_every_state_of_an_empty_store(store: Store) -> None:
    stats = store.stats(NOW, window_ms=1_000)
    assert stats.counts == dict.fromkeys(states.ALL, 0)
    assert stats.finished_recently == dict.fromkeys(states.TERMINAL, 0)
    assert (stats.oldest_pending, stats.window_ms) == (None, 1_000)


def test_stats_count_every_state(store: Store) -> None:
    for state in REACHABLE:
        job_in(store, state, id=state)
    add(store, "more", queue="mail")
    counts = store.stats(NOW, window_ms=1_000).counts
    assert counts == dict.fromkeys(REACHABLE, 1) | {"blocked": 0, "pending": 2}
    mail = store.stats(NOW, window_ms=1_000, queue="mail")
    assert mail.counts == dict.fromkeys(states.ALL, 0) | {"pending": 1}


def test_stats_tell_the_oldest_waiting_and_what_ended_within_the_window(store: Store) -> None:
    for n in range(3):
        job_in(store, states.COMPLETED, id=f"done{n}", now=NOW + n * 1_000)
    job_in(store, states.DEAD, id="dead", now=NOW)
    add(store, "first", now=NOW + 5)
    add(store, "second", now=NOW + 9)
    stats = store.stats(NOW + 3_000, window_ms=2_000)
    assert stats.oldest_pending == NOW + 5
    assert stats.finished_recently == {"completed": 2, "dead": 0, "cancelled": 0}
    assert store.stats(NOW + 3_000, window_ms=2_000, queue="x").oldest_pending is None


def test_attempts_are_listed_oldest_first_and_only_of_that_job(store: Store) -> None:
    add(store, "a", "b")
    finish_with(store, claim_one(store), kinds.FAILED)
    finish_with(store, claim_one(store), kinds.SUCCEEDED)
    finish_with(store, claim_one(store, now=NOW + 2_000), kinds.SUCCEEDED)
    attempts = store.attempts(get(store, "a").seq)
    assert [(attempt.run, attempt.outcome) for attempt in attempts] == [
        (1, "failed"),
        (2, "succeeded"),
    ]
    assert list(store.attempts(999_999)) == []

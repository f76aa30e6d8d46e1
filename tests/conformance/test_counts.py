"""The counts that a store keeps: each job once, also when a transaction fails or runs twice; mended, tidied.

That no change of jobs forgets them is seen after every test on an engine: see `tests.support.counts`.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.jobs import (
    NOW,
    add,
    claim,
    described,
    finish,
    get,
    ids,
    job_in,
    new_job,
    register,
    report,
)
from tests.support.stores import Engine

from queuectl.core import states
from queuectl.store import oldest
from queuectl.store.intake import insert_jobs, insert_values
from queuectl.store.messages import JobFilter
from queuectl.store.pages import Pages
from queuectl.store.server_connection import Conflict
from queuectl.store.tallies import FEW, MINUTE_MS, SHARDS, totals, wrong

DAY = 86_400_000


@pytest.fixture
def db(store: Any) -> Any:
    return store.connection


def rows_of(*names: str) -> list[tuple[object, ...]]:
    return [insert_values(new_job(name), NOW) for name in names]


def test_every_state_is_counted(store: Any, db: Any) -> None:
    register(store)
    for state in (*states.TERMINAL, states.SCHEDULED, states.PENDING, states.FAILED, states.PROCESSING):
        job_in(store, state, state)
    store.enqueue([[described("held", hold=True)]], NOW)
    assert totals(db) == {"default": dict.fromkeys(states.ALL, 1)}
    assert store.stats(NOW, window_ms=60_000).counts == dict.fromkeys(states.ALL, 1)


def test_of_jobs_that_may_exist_only_the_new_ones_are_counted(store: Any, db: Any) -> None:
    add(store, "a", "b", queue="mail")
    some = [
        new_job(id, queue=queue)
        for id, queue in zip("abcdde", ["mail", "x", "mail", "y", "y", "z"], strict=True)
    ]
    assert store.enqueue([some], NOW, skip=True) == 3
    assert totals(db) == {"mail": {"pending": 3}, "y": {"pending": 1}, "z": {"pending": 1}}
    assert store.enqueue_staged([some, [new_job("f", queue="z")]], NOW, skip=True) == 1
    assert totals(db)["z"] == {"pending": 2}


def test_a_transaction_that_fails_leaves_nothing_to_the_next(store: Any, db: Any) -> None:
    def fails(_: int | None) -> int:
        insert_jobs(db, rows_of("a"), now=NOW)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        db.write("enqueue", fails)
    add(store, "b")
    assert totals(db) == {"default": {"pending": 1}}


def test_a_transaction_that_runs_twice_counts_once(store: Any, db: Any) -> None:
    runs = []

    def second_time_lucky(_: int | None) -> int:
        runs.append(insert_jobs(db, rows_of("a"), now=NOW))
        if len(runs) == 1 and db.dialect.hold:  # a file is never in such a conflict
            raise Conflict("the server ended our transaction in favour of another", "try again")
        return 1

    db.write("enqueue", second_time_lucky)
    assert len(runs) == (2 if db.dialect.hold else 1)
    assert totals(db) == {"default": {"pending": 1}}


def test_a_report_that_comes_too_late_is_not_counted(store: Any, db: Any) -> None:
    register(store)
    add(store, "a", "b")
    jobs = claim(store, 2)
    assert finish(store, *map(report, jobs)) == []
    assert len(finish(store, *[report(job, "failed") for job in jobs])) == 2
    assert totals(db) == {"default": {"completed": 2}}


def test_what_ended_is_known_by_the_minute(store: Any) -> None:
    register(store)
    for number, at in enumerate((NOW, NOW + 1, NOW + 2 * MINUTE_MS, NOW + 3 * MINUTE_MS)):
        job_in(store, states.DEAD if number == 1 else states.COMPLETED, f"j{number}", now=at)
    for window, ended in ((0, 1), (MINUTE_MS, 2), (3 * MINUTE_MS - 1, 2), (3 * MINUTE_MS, 3), (9 * DAY, 3)):
        recently = store.stats(NOW + 3 * MINUTE_MS, window_ms=window).finished_recently
        assert recently["completed"] == ended, window


# --- mend and tidy ------------------------------------------------------------------------------------


def test_a_recount_mends_what_a_stranger_has_changed(store: Any, db: Any) -> None:
    add(store, "a", "b", "c", queue="mail")
    assert store.bookkeeping().recount() == 0
    db.write("change", lambda _: db.run("UPDATE jobs SET queue = 'post' WHERE id <> 'a'"))
    db.write("change", lambda _: db.run("UPDATE jobs SET state = 'blocked' WHERE id = 'a'"))
    assert [tuple(map(str, row)) for row in wrong(db)] == [
        *[("mail", "blocked", "1"), ("mail", "pending", "-3"), ("post", "pending", "2")]
    ]
    assert store.bookkeeping().recount() == 3
    assert totals(db) == {"mail": {"blocked": 1}, "post": {"pending": 2}}
    assert store.bookkeeping().recount() == 0


def test_queues_without_jobs_are_forgotten(engine: Engine, store: Any, db: Any) -> None:
    add(store, "stays", queue="kept")
    for number in range(SHARDS):
        add(store, f"j{number}", queue="gone")
        engine.open().remove(JobFilter(queue="gone"), sources=states.REMOVABLE, limit=10)
    store.bookkeeping().tidy()
    assert db.all("SELECT DISTINCT queue FROM tallies WHERE minute = 0") == [("kept",)]


# --- used by ------------------------------------------------------------------------------------------


def test_the_oldest_is_found_among_many_as_among_few(store: Any, db: Any) -> None:
    number = 0
    for queue in ("a", "b", "c"):
        for priority in (0, 5, -3):
            for needs in (None, "gpu=1", "gpu=2"):
                number += 1
                at = NOW + (number * 7919) % 1000
                fields = {} if needs is None else {"needs": needs}
                job = described(f"j{number}", queue=queue, priority=priority, **fields)
                store.enqueue([[job]], at)
    queues = ["a", "c"]
    few = oldest.oldest_pending(db, queues, 1)
    assert oldest.oldest_pending(db, queues, FEW + 1) == few
    assert sorted(few) == queues


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("walk", [(3, 4, 100), (2, 3)], ids=["whole", "short"])
def test_a_page_is_the_same_however_it_is_found(store: Any, walk: tuple[int, ...], descending: bool) -> None:
    register(store)
    for number in range(30):
        state = (states.COMPLETED, states.PENDING, states.DEAD, states.SCHEDULED)[number * 7 % 4]
        job_in(store, state, f"j{number:02}", now=NOW + number * 31 % 17)
    store.editing().edit(JobFilter(states=(states.PENDING,)), {"queue": "mail"}, NOW)
    everyone = sorted(store.page(JobFilter(), limit=100), key=lambda job: job.seq, reverse=descending)
    assert len(everyone) == 30
    for filter in (
        JobFilter(states=(states.COMPLETED,)),
        JobFilter(states=(states.PENDING, states.DEAD)),
        JobFilter(queue="mail"),
        JobFilter(queue="default", states=(states.SCHEDULED, states.COMPLETED)),
        JobFilter(queue="default", text="j2"),
        JobFilter(queue="nobody"),
        JobFilter(states=(states.FAILED,)),
    ):
        wanted = [
            job
            for job in everyone
            if (not filter.states or job.state in filter.states)
            and filter.queue in (None, job.queue)
            and (filter.text or "") in job.id
        ]
        numbers = [job.seq for job in wanted]
        for few in (0, 1_000):
            pages = Pages(store.connection, filter, few=few, steps=walk)
            assert pages.by_number(100, after=None, descending=descending) == numbers
            for place, seq in enumerate(numbers, 1):
                after = pages.by_number(2, after=seq, descending=descending)
                assert after == numbers[place : place + 2]
        assert ids(store.page(filter, limit=100, descending=descending)) == ids(wanted)
        some = store.page(filter, limit=3, offset=2, descending=descending)
        assert ids(some) == ids(wanted)[2:5]
        if wanted:
            rest = store.page(filter, limit=2, after=numbers[0], descending=descending)
            assert ids(rest) == ids(wanted)[1:3]


def test_what_ended_last_is_listed_over_all_queues(store: Any) -> None:
    register(store)
    for number in range(12):
        job_in(store, states.COMPLETED, f"j{number}", now=NOW + number * 5 % 12)
    for number in (3, 4, 5):
        job_in(store, states.DEAD, f"dead{number}", now=NOW + 20 - number)
    ended = (states.COMPLETED, states.DEAD)
    page = store.page(JobFilter(states=ended), limit=5, sort="finished", descending=True)
    assert ids(page) == ["dead3", "dead4", "dead5", "j7", "j2"]
    assert [get(store, job.id).finished_at for job in page] == [NOW + n for n in (17, 16, 15, 11, 10)]

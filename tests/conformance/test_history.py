"""The past: minutes that have passed are moved into spans, each amount once, whoever does it and when."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.jobs import NOW, add, job_in, new_job, register
from tests.support.stores import Engine

from queuectl.core import states
from queuectl.store.history import (
    ALL,
    DAY,
    EVER,
    FOUR,
    HOUR,
    MINUTE,
    PASSED,
    SAMPLES,
    SPANS,
    TEN,
    depth_of,
    ended_since,
    spread,
)
from queuectl.store.messages import JobFilter
from queuectl.store.open import open_store
from queuectl.store.tallies import KEPT_MS, MINUTE_MS, TALLIES

if TYPE_CHECKING:
    from collections.abc import Callable

M = NOW // MINUTE_MS
LATER = NOW + (PASSED + 60) * MINUTE_MS


@pytest.fixture
def db(store: Any) -> Any:
    return store.connection


def at(minute: int) -> int:
    """A moment in it."""
    return minute * MINUTE_MS + 17


def stored(db: Any) -> dict[tuple[int, str, int, str], int]:
    rows = db.all("SELECT span, queue, start, kind, amount FROM history")
    return {(int(span), str(q), int(start), str(kind)): int(n) for span, q, start, kind, n in rows}


def waiting_to_be_moved(db: Any) -> int:
    return int(db.one("SELECT count(*) FROM tallies WHERE minute > 0")[0])


def busy_hour(store: Any, db: Any) -> None:
    """Two queues, a few kinds, minutes on both sides of every border of a span."""
    register(store)
    for number, minute in enumerate((M, M, M + 1, M + 9, M + 10, M + 61)):
        job_in(store, states.DEAD if number == 1 else states.COMPLETED, f"j{number}", now=at(minute))
        add(store, f"m{number}", queue="mail", now=at(minute))
    store.history().measured([("mail", "wait 3", 2), ("mail", "wait ms", 7)], at(M + 1))


def test_what_has_passed_is_moved_and_every_sum_stays(store: Any, db: Any) -> None:
    busy_hour(store, db)
    past = store.history()

    def told() -> list[object]:
        series = [past.series(span, M // DAY * DAY, q) for span in SPANS if span for q in (None, "mail", "x")]
        return [past.ever(), *series]

    before = told()
    assert ("mail", "wait ms", 7) in past.ever()
    assert past.fold(at(M + 61 + PASSED + 1)) is True
    assert waiting_to_be_moved(db) == 0
    assert told() == before


def test_a_row_stands_for_each_span_and_for_all_queues(store: Any, db: Any) -> None:
    for queue, minute, amount in (("a", M, 1), ("a", M + 1, 2), ("b", M + 10, 4), ("b", M + DAY, 8)):
        store.history().measured([(queue, "run ms", amount)], at(minute))
    store.history().fold(at(M + DAY + PASSED + 1))
    wanted: Counter[tuple[int, str, int, str]] = Counter()
    for queue, minute, amount in (("a", M, 1), ("a", M + 1, 2), ("b", M + 10, 4), ("b", M + DAY, 8)):
        for span in (TEN, HOUR, FOUR, DAY):
            for name in (queue, ALL):
                wanted[span, name, minute - minute % span, "run ms"] += amount
        for name in (queue, ALL):
            wanted[EVER, name, 0, "run ms"] += amount
    found = stored(db)
    assert {key: amount for key, amount in found.items() if key[0] != MINUTE} == wanted
    assert {key: amount for key, amount in found.items() if key[0] == MINUTE} == {
        (MINUTE, name, M + DAY, "run ms"): 8
        for name in ("b", ALL)  # of the day before it is forgotten
    }


def test_the_last_minutes_are_left_to_those_who_still_add_to_them(store: Any, db: Any) -> None:
    for minute in (M, M + 1, M + 2):
        store.history().measured([("a", "run ms", 1)], at(minute))
    store.history().fold(at(M + 1 + PASSED))  # M + 1 has not passed by enough
    assert waiting_to_be_moved(db) == 2
    assert store.history().ever() == [("a", "run ms", 3)]


def test_what_comes_late_is_added(store: Any, db: Any) -> None:
    for _ in range(3):
        store.history().measured([("a", "run ms", 5)], at(M))
        store.history().fold(LATER)
        assert waiting_to_be_moved(db) == 0
    assert store.history().ever() == [("a", "run ms", 15)]
    assert store.history().series(TEN, M - 10) == [(M - M % TEN, "run ms", 15)]


def test_moving_twice_changes_nothing(store: Any, db: Any) -> None:
    busy_hour(store, db)
    store.history().fold(LATER + HOUR * MINUTE_MS)
    once = stored(db)
    assert once
    store.history().fold(LATER + HOUR * MINUTE_MS)
    assert stored(db) == once


def test_very_much_is_moved_in_parts(store: Any, db: Any) -> None:
    for minute in range(M, M + 3):
        store.history().measured([(f"q{n}", "run ms", n + 1) for n in range(10)], at(minute))
    before = store.history().ever()
    done = []
    while not done or not done[-1]:
        done.append(store.history().fold(LATER, chunk=7, chunks=2))
        assert store.history().ever() == before
    assert done == [False, False, True]  # 30 rows, 14 at once
    assert waiting_to_be_moved(db) == 0


def test_amounts_that_cancel_out_leave_no_row(store: Any, db: Any) -> None:
    store.history().measured([("a", "run ms", 5)], at(M))
    store.history().measured([("a", "run ms", -5)], at(M))
    store.history().fold(LATER)
    assert (stored(db), waiting_to_be_moved(db)) == ({}, 0)


@pytest.mark.parametrize(("span", "kept"), [(MINUTE, 180), (TEN, 1_600), (HOUR, 8 * DAY), (FOUR, 32 * DAY)])
def test_each_span_is_kept_for_its_time(store: Any, db: Any, span: int, kept: int) -> None:
    past, first = store.history(), M - M % DAY
    past.measured([("a", "run ms", 1)], at(first))
    past.fold(at(first + kept))
    assert {(s, q) for s, q, _, _ in stored(db) if s == span} == {(span, "a"), (span, ALL)}
    past.fold(at(first + kept + 1))
    assert {s for s, _, _, _ in stored(db)} & {span, DAY, EVER} == {DAY, EVER}
    assert past.ever() == [("a", "run ms", 1)]


def test_days_and_ever_are_never_forgotten(store: Any, db: Any) -> None:
    past = store.history()
    past.measured([("a", "run ms", 1)], at(M))
    past.fold(at(M + 4_000 * DAY))
    assert {(s, q) for s, q, _, _ in stored(db)} == {(s, q) for s in (DAY, EVER) for q in ("a", ALL)}


def test_minutes_of_the_version_before_are_moved_too(store: Any, db: Any) -> None:
    """It kept those of eight days where they were counted."""
    rows = [(minute, 0, "a", "completed", 2) for minute in range(M - 8 * DAY, M, 97)]
    db.write("change", lambda _: db.sum(TALLIES, rows))
    assert store.history().fold(at(M + PASSED + 1)) is True
    assert store.history().ever() == [("a", "completed", 2 * len(rows))]
    by_day = [amount for _, _, amount in store.history().series(DAY, M - 9 * DAY)]
    assert sum(by_day) == 2 * len(rows)
    assert len(by_day) in (8, 9)


# --- read -----------------------------------------------------------------------------------------------


def test_series_joins_what_was_moved_and_what_was_not(store: Any, db: Any) -> None:
    past = store.history()
    past.measured([("a", "run ms", 1), ("b", "run ms", 10)], at(M))
    past.fold(LATER)
    past.measured([("a", "run ms", 2)], at(M))
    past.measured([("a", "run ms", 4)], at(M + 30))
    assert waiting_to_be_moved(db) == 2
    assert past.series(MINUTE, M) == [(M, "run ms", 13), (M + 30, "run ms", 4)]
    assert past.series(MINUTE, M, "a") == [(M, "run ms", 3), (M + 30, "run ms", 4)]
    assert past.series(HOUR, M - M % HOUR, "b") == [(M - M % HOUR, "run ms", 10)]
    assert past.series(MINUTE, M + 1) == [(M + 30, "run ms", 4)]
    assert past.series(MINUTE, 0, "nobody") == []


def test_counters_never_go_back(store: Any, db: Any) -> None:
    past = store.history()
    seen: dict[tuple[str, str], int] = {}
    for step in range(8):
        past.measured([("a", "run ms", 1), (f"q{step}", "stale", 1)], at(M + step))
        if step % 2:
            past.fold(at(M + step + PASSED))
        now = {(queue, kind): amount for queue, kind, amount in past.ever()}
        assert all(now[key] >= amount for key, amount in seen.items())
        seen = now
    assert seen["a", "run ms"] == 8


def test_jobs_of_the_present_are_no_past(store: Any) -> None:
    """The counts by state stand in the same table as the minutes."""
    add(store, "a", "b")
    assert store.history().ever() == [("default", "enqueued", 2)]
    assert store.history().series(MINUTE, 0) == [(M, "enqueued", 2)]


def test_every_way_of_a_job_is_counted(store: Any) -> None:
    register(store)
    for number, state in enumerate((*states.TERMINAL, states.FAILED, states.SCHEDULED, states.PENDING)):
        job_in(store, state, f"j{number}")
    assert {kind: amount for _, kind, amount in store.history().ever()} == {
        "enqueued": 6,
        "started": 3,  # one was cancelled before
        "completed": 1,
        "dead": 1,
        "cancelled": 1,
        "failed": 1,
    }


def test_jobs_that_come_in_by_another_way_are_counted_once(store: Any) -> None:
    add(store, "a", "b")
    jobs = [new_job(id) for id in "abcd"]
    assert store.enqueue([jobs], NOW, skip=True) == 2
    assert store.enqueue_staged([[*jobs, new_job("e")]], NOW, skip=True) == 1
    assert store.history().ever() == [("default", "enqueued", 5)]


def test_what_ended_is_known_by_the_minute_before_and_after_a_fold(store: Any, db: Any) -> None:
    register(store)
    for number, minute in enumerate((M, M, M + 2, M + 3)):
        job_in(store, states.DEAD if number == 1 else states.COMPLETED, f"j{number}", now=at(minute))

    def ended(minute: int, queue: str | None = None) -> dict[str, int]:
        found = ended_since(db, minute, queue)
        return {kind: found[kind] for kind in (states.COMPLETED, states.DEAD) if kind in found}

    for fold_at in (None, at(M + 1 + PASSED), at(M + 4 + PASSED)):  # none, some, all
        if fold_at is not None:
            store.history().fold(fold_at)
        assert ended(M) == {"completed": 3, "dead": 1}
        assert ended(M + 1) == ended(M + 2) == {"completed": 2}
        assert ended(M, "default") == {"completed": 3, "dead": 1}
        assert ended(M, "mail") == {}
        for window, count in ((0, 0), (MINUTE_MS, 1), (2 * MINUTE_MS, 2), (KEPT_MS, 3), (10**9, 3)):
            stats = store.stats(at(M + 3) + MINUTE_MS // 2, window_ms=window)
            assert stats.finished_recently["completed"] == count, (fold_at, window)
    assert waiting_to_be_moved(db) == 0


def test_everything_kept_by_the_minute_can_be_asked_for(store: Any) -> None:
    """The store forgets a minute only after nobody asks for it by minutes."""
    register(store)
    job_in(store, states.COMPLETED, "j", now=NOW)
    store.remove(JobFilter(), sources=states.REMOVABLE, limit=10)  # only the past knows it now
    add(store, "k", now=NOW)
    now = NOW + KEPT_MS - MINUTE_MS
    store.history().fold(now)
    assert store.stats(now, window_ms=KEPT_MS).finished_recently["completed"] == 1


# --- samples ----------------------------------------------------------------------------------------------


def test_how_many_there_are_is_noted_once_a_minute_by_whoever_comes_first(engine: Engine, store: Any) -> None:
    add(store, "a", "b")
    add(store, "c", queue="mail")
    others = [engine.open() for _ in range(3)]
    assert [other.history().sample(at(M)) for other in others] == [True, False, False]
    add(store, "d")
    assert [other.history().sample(at(M + 1)) for other in others] == [True, False, False]
    pending = depth_of(states.PENDING)
    found = {(start, kind): amount for start, kind, amount in store.history().series(TEN, M - M % TEN)}
    assert found[M - M % TEN, pending] == 3 + 4
    assert found[M - M % TEN, SAMPLES] == 2
    of_mail = [row for row in store.history().series(MINUTE, M, "mail") if row[1] in (pending, SAMPLES)]
    assert of_mail == [(M, pending, 1), (M, SAMPLES, 1), (M + 1, pending, 1), (M + 1, SAMPLES, 1)]


def test_a_sample_of_an_empty_store_says_so(store: Any) -> None:
    assert store.history().sample(at(M)) is True
    assert store.history().series(MINUTE, M) == [(M, SAMPLES, 1)]


def test_samples_are_no_counters(store: Any) -> None:
    add(store, "a")
    store.history().sample(at(M))
    store.history().fold(LATER)
    assert store.history().ever() == [("default", "enqueued", 1)]


def test_many_at_once_note_one_sample(engine: Engine, store: Any) -> None:
    add(store, "a")
    results: list[bool] = []

    def note(one: Any) -> None:
        results.extend([one.history().sample(at(minute)) for minute in range(M, M + 5)])

    together(engine, note, note, note, note)
    assert results.count(True) == 5
    assert len(results) == 20
    assert [row for row in store.history().series(MINUTE, M) if row[1] == SAMPLES] == [
        (minute, SAMPLES, 1) for minute in range(M, M + 5)
    ]


# --- several at once --------------------------------------------------------------------------------------


def together(engine: Engine, *actions: Callable[[Any], object]) -> None:
    """Each in a thread of its own, with a connection of its own, at the same time."""
    start, errors = threading.Barrier(len(actions)), []

    def act(action: Callable[[Any], object]) -> None:
        try:
            one = open_store(engine.location())
            try:
                start.wait(30)
                action(one)
            finally:
                one.close()
        except BaseException as error:
            start.abort()
            errors.append(error)

    threads = [threading.Thread(target=act, args=(action,)) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert errors == []


def test_those_who_move_at_the_same_time_lose_and_double_nothing(engine: Engine, store: Any) -> None:
    rounds = 25

    def count(one: Any) -> None:
        for number in range(rounds):
            amounts = [("a", "run ms", 1), (f"q{number % 3}", "wait ms", 2), ("b", f"run {number % 4}", 1)]
            one.history().measured(amounts, at(M + number % 7))

    def fold(one: Any) -> None:
        for _ in range(rounds):
            one.history().fold(LATER, chunk=5)  # so that they meet often

    together(engine, count, count, fold, fold)
    store.history().fold(LATER)
    assert waiting_to_be_moved(store.connection) == 0
    ever = {(queue, kind): amount for queue, kind, amount in store.history().ever()}
    assert ever["a", "run ms"] == 2 * rounds
    assert sum(amount for (_, kind), amount in ever.items() if kind == "wait ms") == 2 * 2 * rounds
    assert sum(amount for (queue, _), amount in ever.items() if queue == "b") == 2 * rounds
    for span in (MINUTE, TEN, HOUR, FOUR, DAY):
        of_all = [n for _, kind, n in store.history().series(span, M // DAY * DAY) if kind == "run ms"]
        assert sum(of_all) == 2 * rounds, span


# --- pure -------------------------------------------------------------------------------------------------


def test_spread_sums_up_and_is_in_one_order() -> None:
    rows = spread([(M + 1, "b", "x", 1), (M, "a", "x", 2), (M, "a", "x", 3), (M, "a", "y", 0)])
    assert rows == sorted(rows)
    assert len({row[:4] for row in rows}) == len(rows)
    assert (EVER, ALL, 0, "x", 6) in rows
    assert (MINUTE, "a", M, "x", 5) in rows
    assert not [row for row in rows if row[3] == "y"]

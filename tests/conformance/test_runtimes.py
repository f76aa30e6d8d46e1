"""How long commands take: learned, faded and forgotten alike by every engine; timeouts in percent."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.jobs import NOW, claim, put, register

from queuectl.core.runtimes import class_of_run, digest_of
from queuectl.store.runtimes import MOST_RUNS

A, B = digest_of("a", None, None), digest_of("b", None, None)


def learned(store: Any, runs: dict[tuple[str, int], int], now: int = NOW) -> None:
    store.history().measured([("default", "run ms", 1)], now, runs)


def rows(store: Any) -> list[tuple[object, ...]]:
    return [
        (command, int(number), int(jobs), int(seen))
        for command, number, jobs, seen in store.connection.all(
            "SELECT command, class, jobs, seen_at FROM runtimes ORDER BY command, class"
        )
    ]


def test_durations_are_added_and_the_last_time_is_kept(store: Any) -> None:
    learned(store, {(A, 10): 2, (A, 11): 1, (B, 3): 1})
    learned(store, {(A, 10): 5}, NOW + 7)
    assert sorted(rows(store)) == sorted([(A, 10, 7, NOW + 7), (A, 11, 1, NOW), (B, 3, 1, NOW)])
    known = store.runtimes().of([A, B, "nobody"])
    assert (known[A].runs, known[B].runs) == (8, 1)
    assert known[B].median_ms is None  # one success is no habit
    assert "nobody" not in known
    assert store.runtimes().of([]) == {}


def test_a_command_that_has_become_slower_is_soon_known_to_be_so(store: Any) -> None:
    fast, slow = class_of_run(1_000), class_of_run(60_000)
    learned(store, {(A, fast): 100_000})
    assert store.runtimes().of([A])[A].runs <= MOST_RUNS
    for _ in range(MOST_RUNS):
        learned(store, {(A, slow): 1})
    known = store.runtimes().of([A])[A]
    assert known.runs <= MOST_RUNS
    assert known.median_ms > 45_000


def test_rare_durations_go_when_the_others_fade(store: Any) -> None:
    learned(store, {(A, 5): 1, (A, 9): 100_000})
    assert [row[1] for row in rows(store)] == [9]


def test_too_many_commands_are_forgotten_those_that_ran_once_first(store: Any) -> None:
    runtimes = store.runtimes()
    learned(store, {("nightly", 4): 2}, NOW)
    learned(store, {("older", 4): 2}, NOW - 9)
    for number in range(5):
        learned(store, {(f"once{number}", 4): 1}, NOW + number)
    assert runtimes.prune(keep=3, chunk=2) == 4
    assert [row[0] for row in rows(store)] == ["nightly", "older", "once4"]
    learned(store, {("new", 4): 9, ("new", 5): 9}, NOW + 9)
    runtimes.prune(keep=3, chunk=2)
    assert {row[0] for row in rows(store)} == {"nightly", "new"}
    assert runtimes.prune(keep=3, chunk=2) == 0


def test_a_timeout_in_percent_is_worked_out_at_the_claim(store: Any) -> None:
    register(store)
    ms = 10_000
    learned(store, {(digest_of("slow", None, "/srv"), class_of_run(ms)): 3, (A, class_of_run(2)): 9})
    put(store, "known", command="slow", cwd="/srv", timeout="300%")
    put(store, "elsewhere", command="slow", cwd="/tmp", timeout="300%")
    put(store, "until-then", command="new", timeout=60, timeout_percent=300)
    put(store, "short", command="a", timeout="300%")
    put(store, "other", command="slow", cwd="/srv", timeout="90s")
    jobs = {job.id: job for job in claim(store, limit=9)}
    median = store.runtimes().of([digest_of("slow", None, "/srv")])[digest_of("slow", None, "/srv")].median_ms
    assert median == pytest.approx(ms, rel=0.07)
    assert (jobs["known"].timeout, jobs["known"].usual_ms) == (3 * median, median)
    assert (jobs["elsewhere"].timeout, jobs["elsewhere"].usual_ms) == (None, None)
    assert (jobs["until-then"].timeout, jobs["until-then"].usual_ms) == (60_000, None)
    assert jobs["short"].timeout == 1_000
    assert (jobs["other"].timeout, jobs["other"].usual_ms) == (90_000, None)
    assert store.get("known").timeout is None  # it is worked out anew each time

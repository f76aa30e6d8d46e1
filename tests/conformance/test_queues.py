"""Rules of queues: stored, changed and removed, the same for every connection, also by two at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TYPE_CHECKING

import pytest
from tests.support.jobs import NOW, add, job_in, register

from queuectl.core import states
from queuectl.core.queue_rules import QUEUE_COLUMNS, QueueRule
from queuectl.core.rates import Rate
from queuectl.errors import InvalidInput

if TYPE_CHECKING:
    from tests.support.stores import Engine

    from queuectl.store.api import Store

NS = 1_000_000
EVERYTHING = {
    "concurrency": 4,
    "rate": "100/min",
    "burst": 10,
    "timeout": 90_000,
    "max_retries": 0,
    "backoff_strategy": "fixed",
    "backoff_base": 1.5,
    "backoff_max": 36_525 * 86_400_000,
    "retry_delay": 0,
}


def values(rule: QueueRule | None) -> dict[str, object]:
    """What is laid down."""
    assert rule is not None
    shown = {name: getattr(rule, name) for name in QUEUE_COLUMNS if name not in ("name", "updated_at")}
    return {name: value for name, value in shown.items() if value is not None}


def test_a_fresh_store_has_no_rules(store: Store) -> None:
    assert store.queues().all() == []
    assert store.queues().get("default") is None


def test_a_rule_is_seen_by_all(engine: Engine, store: Store) -> None:
    told = store.queues().set("mail", EVERYTHING, NOW)
    found = engine.open().queues().get("mail")
    assert values(found) == EVERYTHING
    assert values(told) == EVERYTHING
    assert found is not None
    assert (found.name, found.updated_at) == ("mail", NOW)


def test_what_is_not_named_stays(store: Store) -> None:
    store.queues().set("mail", {"concurrency": 4, "timeout": 5}, NOW)
    store.queues().set("mail", {"concurrency": 7}, NOW + 1)
    assert values(store.queues().get("mail")) == {"concurrency": 7, "timeout": 5}


def test_none_removes_a_value_and_nothing_left_removes_the_rule(store: Store) -> None:
    store.queues().set("mail", {"concurrency": 4, "timeout": 5}, NOW)
    assert store.queues().set("mail", {"timeout": None}, NOW) is not None
    assert store.queues().set("mail", {"concurrency": None}, NOW) is None
    assert store.queues().set("mail", {"concurrency": None}, NOW) is None
    assert store.queues().all() == []


def test_rules_come_in_the_order_of_their_names_which_are_told_apart_exactly(store: Store) -> None:
    for name in ("b", "B", "a.1", "a", "_"):
        store.queues().set(name, {"concurrency": 1}, NOW)
    assert [rule.name for rule in store.queues().all()] == ["B", "_", "a", "a.1", "b"]


class TestPause:
    def test_is_stored_with_its_reason_and_end(self, engine: Engine, store: Store) -> None:
        store.queues().pause("mail", reason="zieht um ☃", until=NOW + 5, now=NOW)
        assert values(engine.open().queues().get("mail")) == {
            "paused_at": NOW,
            "paused_until": NOW + 5,
            "pause_reason": "zieht um ☃",
        }

    def test_that_goes_on_takes_another_reason_and_end(self, store: Store) -> None:
        store.queues().pause("mail", reason="a", until=NOW + 5, now=NOW)
        rule = store.queues().pause("mail", reason=None, until=None, now=NOW + 4)
        assert values(rule) == {"paused_at": NOW}

    def test_after_one_that_is_over_begins_anew(self, store: Store) -> None:
        store.queues().pause("mail", reason="a", until=NOW + 5, now=NOW)
        assert store.queues().pause("mail", reason=None, until=None, now=NOW + 5).paused_at == NOW + 5

    def test_that_is_over_leaves_nothing_behind_at_the_next_change(self, store: Store) -> None:
        store.queues().pause("mail", reason="a", until=NOW + 5, now=NOW)
        store.queues().set("mail", {"concurrency": 1}, NOW + 4)
        assert store.queues().set("mail", {"concurrency": None}, NOW + 5) is None

    def test_keeps_the_limits(self, store: Store) -> None:
        store.queues().set("mail", EVERYTHING, NOW)
        store.queues().pause("mail", reason="a", until=None, now=NOW)
        store.queues().resume("mail", NOW)
        assert values(store.queues().get("mail")) == EVERYTHING


def test_resume_ends_a_pause_and_a_draining(store: Store) -> None:
    store.queues().pause("mail", reason="a", until=NOW + 5, now=NOW)
    assert values(store.queues().drain("mail", NOW))["draining"] == 1
    assert store.queues().resume("mail", NOW) is None
    assert store.queues().all() == []


def test_resume_of_what_does_not_rest_changes_nothing(store: Store) -> None:
    assert store.queues().resume("mail", NOW) is None
    assert store.queues().all() == []


def test_drain_twice_is_drain(store: Store) -> None:
    store.queues().drain("mail", NOW)
    store.queues().drain("mail", NOW + 1)
    assert values(store.queues().get("mail")) == {"draining": 1}


class TestTheBucket:
    def spend(self, store: Store, spent: int) -> None:
        store.queues().set("mail", {"rate_spent": spent}, NOW)

    def found(self, store: Store) -> int | None:
        rule = store.queues().get("mail")
        assert rule is not None
        return rule.rate_spent

    def test_stays_when_something_else_changes(self, store: Store) -> None:
        store.queues().set("mail", {"rate": "1/h"}, NOW)
        self.spend(store, (NOW + 99_000_000) * NS)
        store.queues().set("mail", {"concurrency": 4, "rate": "1/h"}, NOW)
        store.queues().pause("mail", reason=None, until=None, now=NOW)
        assert self.found(store) == (NOW + 99_000_000) * NS

    def test_is_never_deeper_in_debt_than_the_new_rate_can_be(self, store: Store) -> None:
        store.queues().set("mail", {"rate": "1/day"}, NOW)
        self.spend(store, (NOW + 86_400_000) * NS)
        store.queues().set("mail", {"rate": "2/min", "burst": 3}, NOW)
        assert self.found(store) == NOW * NS + Rate(2, 60_000, 3).time_ns(3)

    def test_goes_with_the_rate(self, store: Store) -> None:
        store.queues().set("mail", {"rate": "1/h", "burst": 2, "concurrency": 1}, NOW)
        self.spend(store, 7)
        store.queues().set("mail", {"rate": None, "burst": None}, NOW)
        assert values(store.queues().get("mail")) == {"concurrency": 1}


@pytest.mark.parametrize("changes", [{"burst": 5}, {"rate": "1/36525d", "burst": 2}])
def test_a_burst_that_fits_no_rate_is_refused_and_nothing_is_stored(
    store: Store, changes: dict[str, object]
) -> None:
    with pytest.raises(InvalidInput):
        store.queues().set("mail", {"concurrency": 3, **changes}, NOW)
    assert store.queues().all() == []


def test_changes_of_many_at_once_are_all_kept(engine: Engine) -> None:
    """Each sets a column of its own, and the row has to be made first: none may be lost."""
    engine.open()  # the schema
    columns = list(EVERYTHING.items())
    columns = [item for item in columns if item[0] not in ("rate", "burst")]
    barrier = Barrier(len(columns))

    def change(item: tuple[str, object]) -> None:
        queues = engine.open().queues()
        for turn in range(5):
            barrier.wait(30)
            queues.set(f"q{turn}", dict([item]), NOW)

    with ThreadPoolExecutor(len(columns)) as threads:
        list(threads.map(change, columns))
    for rule in engine.open().queues().all():
        assert values(rule) == dict(columns)


def test_making_and_removing_a_rule_at_once_ends_in_one_of_both(engine: Engine) -> None:
    engine.open()
    barrier = Barrier(2)

    def turn(concurrency: int | None) -> None:
        queues = engine.open().queues()
        for _ in range(20):
            barrier.wait(30)
            queues.set("mail", {"concurrency": concurrency}, NOW)

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(turn, (4, None)))
    assert [values(rule) for rule in engine.open().queues().all()] in ([], [{"concurrency": 4}])


def test_depths_count_each_queue_by_state(store: Store) -> None:
    assert store.queues().depths() == {}
    register(store)
    job_in(store, states.DEAD, "dead")
    job_in(store, states.PROCESSING, "running")
    add(store, "m1", "m2", queue="mail", now=NOW + 5)
    add(store, "m3", queue="mail", now=NOW + 3)
    add(store, "m4", queue="mail", run_at=NOW + 60_000)
    depths = store.queues().depths()
    assert depths == {"mail": {"pending": 3, "scheduled": 1}, "default": {"dead": 1, "processing": 1}}
    assert store.queues().oldest(depths) == {"mail": NOW + 3}


def test_a_change_is_noticed_by_who_waits(engine: Engine, store: Store) -> None:
    before = store.changed()
    engine.open().queues().drain("mail", NOW)
    assert store.changed() != before

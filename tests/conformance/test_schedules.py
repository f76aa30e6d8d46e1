"""Schedules: laid down, paused, and fired exactly once whoever tries."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Barrier, Thread
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.jobs import EVERYTHING, NOW, add, claim, finish, get, register, report

from queuectl import events
from queuectl.clock import Clock
from queuectl.config.settings import Settings
from queuectl.core.outcome import SUCCEEDED
from queuectl.core.schedules import SCHEDULE_COLUMNS, Schedule, schedule_from_row
from queuectl.errors import InvalidInput, Refused
from queuectl.queue import Queue
from queuectl.schedules import trigger
from queuectl.testing import FakeClock
from queuectl.upkeep.scheduler import Scheduler, run_once

if TYPE_CHECKING:
    from tests.support.stores import Engine

    from queuectl.store.api import Store

SETTINGS = Settings()
HOUR = 3_600_000
DAY = 24 * HOUR  # NOW is at 08:00 UTC


def schedule(name: str = "s", **fields: Any) -> Schedule:
    """One that is due every hour, the next time at NOW."""
    given: dict[str, Any] = {
        "recurrence": "0 * * * *",
        "zone": "UTC",
        "catch_up": "one",
        "overlap": "skip",
        "job": json.dumps({"command": f"echo {name}"}),
        "next_at": NOW,
        "paused_at": None,
        "last_at": None,
        "last_job": None,
        "fired": 0,
        "skipped": 0,
        "created_at": NOW - DAY,
        "updated_at": NOW - DAY,
    }
    return schedule_from_row([{"name": name, **given, **fields}[column] for column in SCHEDULE_COLUMNS])


def put(store: Store, *schedules: Schedule) -> None:
    for one in schedules:
        store.schedules().add(one)


def stored(store: Store, name: str = "s") -> Schedule:
    found = store.schedules().get(name)
    assert found is not None
    return found


def all_of(one: Schedule) -> list[object]:
    return [getattr(one, name) for name in SCHEDULE_COLUMNS]


def fire(store: Store, now: int = NOW) -> int | None:
    return run_once(store, SETTINGS, now)


def job_ids(store: Store) -> list[str]:
    return [job.id for job in store.page(EVERYTHING, limit=5_000)]


def end(store: Store, *ids: str, now: int = NOW) -> None:
    """Let these jobs, which are pending, succeed."""
    if not store.workers():
        register(store)
    for id in ids:
        (job,) = claim(store, now=now, only=get(store, id).seq)
        assert finish(store, report(job, SUCCEEDED, now=now), now=now) == []


@contextmanager
def heard() -> Iterator[list[tuple[str, dict[str, object]]]]:
    told: list[tuple[str, dict[str, object]]] = []
    stop = events.subscribe(lambda name, fields: told.append((name, fields)))
    yield told
    stop()


class TestLayingDown:
    def test_one_is_stored_as_it_is_and_seen_by_all(self, engine: Engine, store: Store) -> None:
        one = schedule(job=json.dumps({"command": "echo 'ä'", "env": {"A": "ß"}}, ensure_ascii=False))
        put(store, schedule("z"), one)
        other = engine.open().schedules()
        assert [found.name for found in other.all()] == ["s", "z"]
        assert all_of(other.all()[0]) == all_of(one)
        assert other.get("t") is None

    def test_a_name_is_taken_once(self, store: Store) -> None:
        put(store, schedule())
        with pytest.raises(InvalidInput, match="schedule s exists already"):
            put(store, schedule(recurrence="@daily"))
        assert stored(store).recurrence == "0 * * * *"

    def test_replacing_keeps_what_it_has_done_and_its_pause(self, store: Store) -> None:
        put(store, schedule(fired=7, skipped=3, last_at=5, last_job="j", paused_at=4))
        new = schedule(recurrence="@daily", overlap="allow", next_at=NOW + DAY, updated_at=NOW)
        assert store.schedules().replace(new)
        found = stored(store)
        assert (found.fired, found.skipped, found.last_at, found.last_job, found.paused_at) == (
            7,
            3,
            5,
            "j",
            4,
        )
        assert (found.recurrence, found.overlap, found.next_at) == ("@daily", "allow", NOW + DAY)
        assert found.created_at == NOW - DAY

    def test_replacing_at_the_same_times_does_not_lose_one_that_is_due(self, store: Store) -> None:
        put(store, schedule())
        assert store.schedules().replace(schedule(job='{"command": "new"}', next_at=NOW + HOUR))
        assert (stored(store).next_at, stored(store).job) == (NOW, '{"command": "new"}')

    def test_what_is_not_there_cannot_be_replaced_or_removed(self, store: Store) -> None:
        assert not store.schedules().replace(schedule())
        assert not store.schedules().remove("s")
        assert store.schedules().all() == []

    def test_removing_leaves_its_jobs(self, store: Store) -> None:
        put(store, schedule())
        fire(store)
        assert store.schedules().remove("s")
        assert store.schedules().all() == []
        assert get(store, "s-20270115T080000Z").schedule == "s"

    def test_a_paused_one_is_not_due(self, store: Store) -> None:
        put(store, schedule())
        assert store.schedules().pause("s", NOW)
        assert not store.schedules().pause("s", NOW + 1)
        assert stored(store).paused_at == NOW
        assert fire(store, NOW + DAY) is None
        assert job_ids(store) == []

    def test_resuming_begins_at_the_time_that_is_given(self, store: Store) -> None:
        put(store, schedule())
        assert not store.schedules().resume("s", NOW + HOUR, NOW)
        assert stored(store).next_at == NOW
        store.schedules().pause("s", NOW)
        assert store.schedules().resume("s", NOW + 5 * HOUR, NOW)
        assert fire(store, NOW + 4 * HOUR) == NOW + 5 * HOUR
        assert job_ids(store) == []
        fire(store, NOW + 5 * HOUR)
        assert job_ids(store) == ["s-20270115T130000Z"]

    def test_every_change_can_be_told_from_the_one_before(self, store: Store) -> None:
        put(store, schedule(updated_at=NOW))
        versions = [stored(store).updated_at]
        for _ in range(2):
            store.schedules().pause("s", NOW)
            versions.append(stored(store).updated_at)
            store.schedules().resume("s", NOW, NOW)
            versions.append(stored(store).updated_at)
        assert versions == sorted(set(versions))


class TestFiring:
    def test_one_that_is_due_makes_a_job_and_waits_for_the_next_time(self, store: Store) -> None:
        put(
            store,
            schedule(job=json.dumps({"command": "x", "priority": 4, "timeout": "10m", "ok_codes": "3"})),
        )
        assert fire(store, NOW + 7) == NOW + HOUR
        job = get(store, "s-20270115T080000Z")
        assert (job.state, job.command, job.priority, job.timeout) == ("pending", "x", 4, 600_000)
        assert (job.schedule, job.rule("ok_codes"), job.run_at) == ("s", "3", NOW + 7)
        found = stored(store)
        assert (found.next_at, found.last_at, found.last_job) == (NOW + HOUR, NOW, job.id)
        assert (found.fired, found.skipped) == (1, 0)

    def test_nothing_happens_before_the_time(self, store: Store) -> None:
        put(store, schedule())
        assert fire(store, NOW - 1) == NOW
        assert job_ids(store) == []
        assert all_of(stored(store)) == all_of(schedule())

    def test_without_schedules_nothing_is_wanted(self, store: Store) -> None:
        assert fire(store) is None

    def test_one_that_ends_is_never_due_again(self, store: Store) -> None:
        put(store, schedule(next_at=None))
        assert fire(store, NOW + DAY) is None
        assert job_ids(store) == []

    def test_what_was_read_before_somebody_else_fired_fires_nothing(
        self, engine: Engine, store: Store
    ) -> None:
        put(store, schedule(overlap="allow"))
        before = stored(store)
        fire(engine.open())
        planned = {"jobs": [], "next_at": NOW + HOUR, "last_at": NOW, "skipped": 1, "now": NOW}
        assert store.schedules().fire(before, **planned) is None  # type: ignore[arg-type]
        assert stored(store).skipped == 0

    @pytest.mark.parametrize("change", ["pause", "replace", "remove"])
    def test_what_was_changed_meanwhile_fires_nothing(self, store: Store, change: str) -> None:
        put(store, schedule())
        before = stored(store)
        if change == "pause":
            store.schedules().pause("s", NOW)
        elif change == "replace":
            store.schedules().replace(schedule(job='{"command": "other"}'))
        else:
            store.schedules().remove("s")
        planned = {"jobs": [], "next_at": NOW + HOUR, "last_at": NOW, "skipped": 1, "now": NOW}
        assert store.schedules().fire(before, **planned) is None  # type: ignore[arg-type]

    def test_many_leaders_fire_one_time_once(self, engine: Engine, store: Store) -> None:
        names = [f"s{n}" for n in range(10)]
        put(store, *(schedule(name, overlap="allow") for name in names))
        leaders = [engine.open() for _ in range(4)]
        barrier = Barrier(len(leaders))
        errors: list[BaseException] = []

        def lead(leader: Store) -> None:
            try:
                barrier.wait(20)
                for hour in range(3):
                    fire(leader, NOW + hour * HOUR)
            except BaseException as error:
                errors.append(error)

        threads = [Thread(target=lead, args=(leader,)) for leader in leaders]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert errors == []
        assert len(job_ids(store)) == 30
        assert {(one.fired, one.skipped) for one in store.schedules().all()} == {(3, 0)}

    def test_a_time_that_comes_again_makes_no_second_job(self, store: Store) -> None:
        """The clock was set back, and the schedule resumed."""
        put(store, schedule(overlap="allow"))
        fire(store)
        store.schedules().pause("s", NOW)
        store.schedules().resume("s", NOW, NOW)
        assert fire(store) == NOW + HOUR
        assert job_ids(store) == ["s-20270115T080000Z"]
        assert (stored(store).fired, stored(store).skipped) == (1, 1)

    def test_an_id_that_somebody_else_has_taken_is_left_alone(self, store: Store) -> None:
        add(store, "s-20270115T080000Z", command="mine")
        put(store, schedule())
        assert fire(store) == NOW + HOUR
        assert get(store, "s-20270115T080000Z").command == "mine"
        assert (stored(store).fired, stored(store).skipped) == (0, 1)

    def test_jobs_to_follow_come_along(self, store: Store) -> None:
        fields = {"command": "x", "on_failure": "mail", "on_success": "sync"}
        put(store, schedule(job=json.dumps(fields)))
        fire(store)
        assert {job.id: (job.command, job.state) for job in store.page(EVERYTHING, limit=9)} == {
            "s-20270115T080000Z": ("x", "pending"),
            "s-20270115T080000Z-on-success": ("sync", "blocked"),
            "s-20270115T080000Z-on-failure": ("mail", "blocked"),
        }
        assert (stored(store).fired, stored(store).last_job) == (1, "s-20270115T080000Z")

    def test_a_drained_queue_takes_nothing_and_the_time_passes(self, store: Store) -> None:
        store.queues().drain("mail", NOW)
        put(store, schedule(job='{"command": "x", "queue": "mail"}'))
        with heard() as told:
            assert fire(store) == NOW + HOUR
        assert ("schedule.fired", {"schedule": "s", "jobs": 0, "skipped": 1}) in told
        assert job_ids(store) == []
        assert (stored(store).fired, stored(store).skipped) == (0, 1)

    def test_a_group_lets_the_jobs_of_schedules_in_one_by_one(self, store: Store) -> None:
        put(store, *(schedule(name, job='{"command": "x", "group": "g"}') for name in ("s", "t")))
        fire(store)
        assert sorted(job.state for job in store.page(EVERYTHING, limit=9)) == ["blocked", "pending"]

    def test_a_damaged_one_does_not_stop_the_others_and_is_told_once(self, store: Store) -> None:
        broken = {
            "a-rule": schedule("a-rule", catch_up="maybe"),
            "b-job": schedule("b-job", job="{"),
            "c-fields": schedule("c-fields", job='{"comand": "x"}'),
            "d-times": schedule("d-times", recurrence="99 * * * *"),
            "e-zone": schedule("e-zone", zone="Mars/Base"),
            "f-rules": schedule("f-rules", catch_up="all", overlap="skip"),
            "g-list": schedule("g-list", job="[]"),
        }
        put(store, *broken.values(), schedule("good"))
        scheduler = Scheduler()
        with heard() as told:
            for _ in range(3):
                scheduler(store, SETTINGS, NOW)
        assert job_ids(store) == ["good-20270115T080000Z"]
        assert scheduler.next_at == NOW + HOUR
        failed = [fields["schedule"] for name, fields in told if name == "schedule.failed"]
        assert failed == sorted(broken)
        assert ("schedule.fired", {"schedule": "good", "jobs": 1, "skipped": 0}) in told

    def test_of_very_many_some_wait_for_the_next_turn(self, store: Store) -> None:
        put(store, *(schedule(f"s{n:03d}") for n in range(60)))
        assert fire(store) == NOW, "it wants to be called again at once"
        assert len(job_ids(store)) == 50
        assert fire(store) == NOW + HOUR
        assert len(job_ids(store)) == 60


class TestCatchingUp:
    """The last worker stopped; a day later one starts."""

    LATE = NOW + DAY + 20 * 60_000  # 24 more times have come, the last of them 20 minutes ago

    def test_one_makes_up_for_the_last_time(self, store: Store) -> None:
        put(store, schedule(catch_up="one"))
        assert fire(store, self.LATE) == NOW + DAY + HOUR
        assert job_ids(store) == ["s-20270116T080000Z"]
        assert (stored(store).fired, stored(store).skipped) == (1, 24)
        assert stored(store).last_at == NOW + DAY

    def test_skip_waits_for_the_next_time(self, store: Store) -> None:
        put(store, schedule(catch_up="skip"))
        assert fire(store, self.LATE) == NOW + DAY + HOUR
        assert job_ids(store) == []
        found = stored(store)
        assert (found.fired, found.skipped, found.last_at, found.last_job) == (0, 25, None, None)

    def test_skip_fires_what_is_only_a_little_late(self, store: Store) -> None:
        put(store, schedule(catch_up="skip"))
        fire(store, NOW + 30_000)
        assert job_ids(store) == ["s-20270115T080000Z"]

    @pytest.mark.parametrize("overlap", ["allow", "queue"])
    def test_all_makes_up_for_every_time_in_their_order(self, store: Store, overlap: str) -> None:
        put(store, schedule(catch_up="all", overlap=overlap))
        assert fire(store, self.LATE) == NOW + DAY + HOUR
        ids = job_ids(store)
        assert (len(ids), ids[0], ids[-1]) == (25, "s-20270115T080000Z", "s-20270116T080000Z")
        assert ids == sorted(ids)
        assert (stored(store).fired, stored(store).skipped) == (25, 0)

    def test_all_of_very_many_are_made_in_portions(self, store: Store) -> None:
        put(store, schedule(recurrence="@every 1s", catch_up="all", overlap="allow"))
        now = NOW + 1_500_000
        assert fire(store, now) == now, "it wants to be called again at once"
        assert len(job_ids(store)) == 1_000
        assert fire(store, now) == now + 1_000
        assert len(set(job_ids(store))) == 1_501


class TestOverlap:
    def test_skip_leaves_a_time_out_while_a_job_of_before_has_not_ended(self, store: Store) -> None:
        put(store, schedule())
        fire(store)
        assert fire(store, NOW + HOUR) == NOW + 2 * HOUR
        assert job_ids(store) == ["s-20270115T080000Z"]
        assert (stored(store).fired, stored(store).skipped) == (1, 1)
        end(store, "s-20270115T080000Z")
        fire(store, NOW + 2 * HOUR)
        assert job_ids(store) == ["s-20270115T080000Z", "s-20270115T100000Z"]

    def test_skip_looks_only_at_jobs_of_its_own(self, store: Store) -> None:
        put(store, schedule(), schedule("other", next_at=NOW - HOUR))
        fire(store, NOW - HOUR)
        fire(store)
        assert "s-20270115T080000Z" in job_ids(store)

    def test_allow_does_not_mind(self, store: Store) -> None:
        put(store, schedule(overlap="allow"))
        fire(store)
        fire(store, NOW + HOUR)
        assert [job.state for job in store.page(EVERYTHING, limit=9)] == ["pending", "pending"]

    def test_queue_runs_them_one_after_the_other(self, store: Store) -> None:
        put(store, schedule(overlap="queue"))
        register(store)
        for hour in range(3):
            fire(store, NOW + hour * HOUR)
        later = NOW + 3 * HOUR
        assert [job.state for job in store.page(EVERYTHING, limit=9)] == ["pending", "blocked", "blocked"]
        done = []
        while jobs := claim(store, 5, now=later):
            (job,) = jobs
            done.append(job.id)
            finish(store, report(job, SUCCEEDED, now=later), now=later)
        assert done == ["s-20270115T080000Z", "s-20270115T090000Z", "s-20270115T100000Z"]
        assert stored(store).fired == 3

    def test_the_look_at_unfinished_jobs_uses_an_index(self, store: Store) -> None:
        """However many jobs a schedule has made, and however many wait."""
        put(store, schedule(overlap="allow"))
        for hour in range(3):
            fire(store, NOW + hour * HOUR)
        db = store.connection
        query = f"SELECT id FROM jobs WHERE {db.dialect.live_schedule} LIMIT 1"
        explain = "EXPLAIN QUERY PLAN" if db.dialect.name == "sqlite" else "EXPLAIN"

        def plan(_: str | None) -> str:
            if db.dialect.name == "postgres":
                db.run("SET LOCAL enable_seqscan = off")  # it would read so few jobs as they are
            return str(db.all(f"{explain} {query}", ("s",)))

        assert "jobs_schedule" in db.write("enqueue", plan)


class TestTrigger:
    def queue(self, store: Store, clock: Clock | None = None) -> Queue:
        return Queue(store, SETTINGS, clock or FakeClock(NOW))

    def test_it_makes_a_job_now_and_leaves_the_times(self, store: Store) -> None:
        put(store, schedule(next_at=NOW + HOUR))
        job = trigger(self.queue(store), "s")
        assert job.id.startswith("s-20270115T080000Z-")
        assert (job.state, job.schedule, job.command) == ("pending", "s", "echo s")
        found = stored(store)
        assert (found.next_at, found.last_at, found.last_job) == (NOW + HOUR, NOW, job.id)
        assert found.fired == 1

    def test_of_a_paused_one(self, store: Store) -> None:
        put(store, schedule(paused_at=5))
        assert trigger(self.queue(store), "s").state == "pending"
        assert stored(store).paused_at == 5

    def test_does_not_stand_in_the_way_of_one_that_is_due(self, store: Store) -> None:
        put(store, schedule(overlap="allow"))
        before = stored(store)
        trigger(self.queue(store), "s")
        planned = {"jobs": [], "next_at": NOW + HOUR, "last_at": NOW, "skipped": 0, "now": NOW}
        assert store.schedules().fire(before, **planned) == []  # type: ignore[arg-type]

    def test_keeps_to_the_overlap_rule(self, store: Store) -> None:
        put(store, schedule(), schedule("q", overlap="queue"), schedule("a", overlap="allow"))
        queue = self.queue(store)
        first = trigger(queue, "s")
        with pytest.raises(Refused, match=f"job {first.id} of schedule s has not ended"):
            trigger(queue, "s")
        assert [trigger(queue, name).state for name in ("q", "q", "a", "a")] == [
            *("pending", "blocked", "pending", "pending")
        ]

    def test_of_a_drained_queue_is_refused(self, store: Store) -> None:
        store.queues().drain("mail", NOW)
        put(store, schedule(job='{"command": "x", "queue": "mail"}'))
        with pytest.raises(Refused, match="mail is drained"):
            trigger(self.queue(store), "s")
        assert stored(store).fired == 0

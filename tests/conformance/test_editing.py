"""Waiting jobs are held, released and changed; progress is told under the fence of the claim."""

from __future__ import annotations

import json
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.jobs import (
    EVERYTHING,
    NOW,
    REACHABLE,
    add,
    claim,
    claim_one,
    finish_with,
    get,
    ids,
    job_in,
    register,
    snapshot,
)

from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.core.conditions import Conditions
from queuectl.errors import InvalidInput
from queuectl.store.editing import Editing
from queuectl.store.messages import JobFilter

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.stores import Engine

    from queuectl.store.api import Store

J = JobFilter(ids=("j",))
LATER = NOW + 60_000
MUCH_LATER = NOW + 3_600_000
WAITING = sorted(set(states.CANCELLABLE) & set(REACHABLE))
OTHERS = sorted(set(REACHABLE) - set(WAITING))


@pytest.fixture(autouse=True)
def _worker(store: Store) -> None:
    register(store)


def conditions(**fields: Any) -> Conditions:
    result = Conditions()
    for name, value in fields.items():
        setattr(result, name, value)
    return result


def with_group(store: Store, *names: str, limit: int = 1) -> None:
    for name in names:
        add(store, name, conditions=conditions(group="g", group_limit=limit))


def states_of(store: Store) -> dict[str, str]:
    return {job.id: job.state for job in store.page(EVERYTHING, limit=100)}


# --- hold and release -----------------------------------------------------------------------------------


@pytest.mark.parametrize("state", WAITING)
def test_a_held_job_is_blocked_and_otherwise_as_it_was(store: Store, state: str) -> None:
    before = job_in(store, state)
    assert store.editing().hold(J, LATER) == 1
    job = get(store, "j")
    assert (job.state, job.held, job.updated_at) == ("blocked", 1, LATER)
    assert (job.run_at, job.attempts, job.last_error) == (before.run_at, before.attempts, before.last_error)
    assert claim(store, 5, now=MUCH_LATER) == []
    assert store.editing().hold(J, LATER) == 0, "it is held already"


@pytest.mark.parametrize("state", OTHERS)
def test_a_job_that_runs_or_has_ended_is_neither_held_nor_changed(store: Store, state: str) -> None:
    job_in(store, state)
    kept = snapshot(store)
    assert store.editing().hold(J, LATER) == 0
    assert store.editing().release(J, LATER) == 0
    assert store.editing().edit(J, {"priority": 7, "run_at": MUCH_LATER}, LATER) == 0
    assert snapshot(store) == kept


@pytest.mark.parametrize(("state", "then"), [("pending", "pending"), ("scheduled", "scheduled")])
def test_a_released_job_waits_as_before(store: Store, state: str, then: str) -> None:
    before = job_in(store, state)
    store.editing().hold(J, NOW)
    assert store.editing().release(J, NOW + 1) == 1
    job = get(store, "j")
    assert (job.state, job.held, job.run_at) == (then, None, before.run_at)
    assert store.editing().release(J, NOW) == 0, "nobody holds it any more"
    assert ids(claim(store, 5, now=MUCH_LATER)) == ["j"]


def test_a_released_job_whose_time_came_meanwhile_runs_at_once(store: Store) -> None:
    job_in(store, states.SCHEDULED)
    store.editing().hold(J, NOW)
    store.editing().release(J, MUCH_LATER)
    assert get(store, "j").state == states.PENDING


def test_a_failed_job_that_is_released_keeps_its_attempts_and_waits_for_its_retry(store: Store) -> None:
    before = job_in(store, states.FAILED)
    store.editing().hold(J, NOW)
    store.editing().release(J, NOW)
    job = get(store, "j")
    assert (job.state, job.attempts, job.run_at) == ("scheduled", 1, before.run_at)
    assert claim_one(store, now=before.run_at).attempts == 2


def test_a_blocked_job_that_nobody_holds_cannot_be_released(store: Store) -> None:
    with_group(store, "in", "out")
    assert states_of(store) == {"in": "pending", "out": "blocked"}
    assert store.editing().release(EVERYTHING, NOW) == 0
    assert states_of(store) == {"in": "pending", "out": "blocked"}


def test_holding_does_not_end_the_waiting_for_other_jobs(store: Store) -> None:
    add(store, "parent")
    add(store, "j", conditions=conditions(after=[("success", "parent")]))
    assert store.editing().hold(J, NOW) == 1
    assert get(store, "j").waits == 1
    assert store.editing().release(J, NOW) == 1
    job = get(store, "j")
    assert (job.state, job.held, job.waits) == ("blocked", None, 1)


def test_hold_and_release_take_all_that_match_and_nothing_else(store: Store) -> None:
    add(store, "a", "b", queue="mail")
    add(store, "c", "d")
    claim_one(store, queues=("mail",))
    editing = store.editing()
    assert editing.hold(JobFilter(queue="mail"), NOW) == 1
    assert editing.hold(JobFilter(states=("processing",)), NOW) == 0
    assert editing.hold(JobFilter(ids=("c", "missing")), NOW) == 1
    assert states_of(store) == {"a": "processing", "b": "blocked", "c": "blocked", "d": "pending"}
    assert (store.count(JobFilter(held=True)), store.count(JobFilter(held=False))) == (2, 2)
    assert editing.release(JobFilter(queue="mail"), NOW) == 1
    assert ids(store.page(JobFilter(held=True), limit=9)) == ["c"]


def test_thousands_are_held_released_and_changed_in_chunks(store: Store) -> None:
    add(store, *(f"j{n}" for n in range(2_001)))
    editing = store.editing()
    assert editing.hold(EVERYTHING, NOW) == 2_001
    assert store.count(JobFilter(states=("blocked",))) == 2_001
    assert editing.edit(EVERYTHING, {"queue": "other"}, NOW) == 2_001
    assert editing.release(JobFilter(queue="other"), NOW) == 2_001
    assert store.count(JobFilter(states=("pending",), queue="other")) == 2_001


def test_a_held_job_can_be_cancelled_and_removed(store: Store) -> None:
    add(store, "a", "b")
    store.editing().hold(EVERYTHING, NOW)
    assert store.cancel(JobFilter(ids=("a",)), NOW) == (1, 0)
    assert store.editing().release(JobFilter(ids=("a",)), NOW) == 0, "it has ended"
    assert store.remove(JobFilter(ids=("b",)), sources=states.REMOVABLE, limit=5)[0] == 1
    assert states_of(store) == {"a": "cancelled"}


# --- groups ---------------------------------------------------------------------------------------------


def test_a_held_job_leaves_its_place_in_the_group_to_another(store: Store) -> None:
    with_group(store, "a", "b", "c")
    assert states_of(store) == {"a": "pending", "b": "blocked", "c": "blocked"}
    store.editing().hold(JobFilter(ids=("a",)), NOW)
    assert states_of(store) == {"a": "blocked", "b": "pending", "c": "blocked"}
    store.editing().release(JobFilter(ids=("a",)), NOW)
    assert states_of(store) == {"a": "blocked", "b": "pending", "c": "blocked"}, "the group is full"
    assert get(store, "a").held is None


def test_a_job_of_a_group_that_is_put_off_leaves_its_place_and_comes_back_behind_others(store: Store) -> None:
    with_group(store, "a", "b", "c")
    editing = store.editing()
    editing.edit(JobFilter(ids=("a", "c")), {"run_at": MUCH_LATER}, NOW)
    assert states_of(store) == {"a": "scheduled", "b": "pending", "c": "scheduled"}
    editing.edit(JobFilter(ids=("a",)), {"run_at": NOW}, NOW)
    assert states_of(store) == {"a": "blocked", "b": "pending", "c": "scheduled"}
    editing.hold(JobFilter(ids=("b",)), NOW)
    assert states_of(store) == {"a": "pending", "b": "blocked", "c": "scheduled"}


# --- edit -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", [*WAITING, "held"])
def test_values_change_and_the_state_does_not(store: Store, state: str) -> None:
    job_in(store, states.PENDING if state == "held" else state)
    if state == "held":
        store.editing().hold(J, NOW)
    before = get(store, "j")
    changes: dict[str, object] = {
        "command": "ls -l",
        "argv": '["ls", "-l"]',
        "queue": "other",
        "priority": 9,
        "max_retries": 7,
        "timeout": 5_000,
        "cwd": "/srv/bäcker",
        "tags": ",a,b,",
        "needs": "gpu=1",
        "backoff_base": 1.5,
    }
    assert store.editing().edit(J, changes, LATER) == 1
    job = get(store, "j")
    assert {name: getattr(job, name) for name in changes} == changes
    assert (job.state, job.run_at, job.held) == (before.state, before.run_at, before.held)
    assert (job.updated_at, job.created_at, job.attempts) == (LATER, before.created_at, before.attempts)
    assert store.editing().edit(J, {"timeout": None, "argv": None}, LATER) == 1
    assert (get(store, "j").timeout, get(store, "j").argv) == (None, None)


@pytest.mark.parametrize(
    ("state", "run_at", "then"),
    [
        ("pending", MUCH_LATER, "scheduled"),
        ("pending", LATER, "pending"),
        ("scheduled", MUCH_LATER, "scheduled"),
        ("scheduled", LATER, "pending"),
        ("scheduled", NOW - 1, "pending"),
        ("failed", MUCH_LATER, "failed"),
        ("failed", LATER, "pending"),
        ("held", MUCH_LATER, "blocked"),
        ("held", LATER, "blocked"),
    ],
)
def test_a_new_time_decides_whether_the_job_waits_for_it(
    store: Store, state: str, run_at: int, then: str
) -> None:
    job_in(store, states.PENDING if state == "held" else state)
    if state == "held":
        store.editing().hold(J, NOW)
    assert store.editing().edit(J, {"run_at": run_at}, LATER) == 1
    job = get(store, "j")
    assert (job.state, job.run_at) == (then, max(run_at, LATER))
    if state == "held":
        store.editing().release(J, LATER)
    early = claim(store, 5, now=LATER)
    assert ids(early) == ([] if run_at > LATER else ["j"])
    if not early:
        assert ids(claim(store, 5, now=run_at)) == ["j"]


def test_what_jobs_have_of_their_own_is_merged_for_each(store: Store) -> None:
    add(store, "a", conditions=conditions(rules={"nice": 5}), env='{"A": "1"}')
    add(store, "b", conditions=conditions(rules={"nice": 5}))
    add(store, "c")

    def merge(rules: str | None, env: str | None, _: str | None) -> dict[str, object]:
        return {"rules": json.dumps({**json.loads(rules or "{}"), "files": 9}), "env": env}

    assert store.editing().edit(EVERYTHING, {"priority": 3}, NOW, merge=merge) == 3
    found = {
        job.id: (json.loads(job.rules or ""), job.env, job.priority)
        for job in store.page(EVERYTHING, limit=5)
    }
    assert found == {
        "a": ({"nice": 5, "files": 9}, '{"A": "1"}', 3),
        "b": ({"nice": 5, "files": 9}, None, 3),
        "c": ({"files": 9}, None, 3),
    }


def test_what_is_refused_for_one_job_is_done_for_none(store: Store) -> None:
    add(store, *(f"j{n}" for n in range(1_100)))
    add(store, "odd", env='{"A": "1"}')

    def merge(rules: str | None, env: str | None, _: str | None) -> dict[str, object]:
        if env is not None:
            raise InvalidInput("no")
        return {"rules": rules}

    with pytest.raises(InvalidInput):
        store.editing().edit(EVERYTHING, {"priority": 3}, NOW, merge=merge)
    assert {job.priority for job in store.page(EVERYTHING, limit=2_000)} == {0}


# --- races with a claim ---------------------------------------------------------------------------------


class Interrupted:
    """A connection before whose next transaction something else happens."""

    def __init__(self, connection: Any, happens: Callable[[], object]) -> None:
        self._connection = connection
        self._happens = happens

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def write(self, point: str, body: Callable[[Any], Any]) -> Any:
        self._happens()
        return self._connection.write(point, body)


@pytest.mark.parametrize("what", ["hold", "edit", "move"])
def test_a_job_that_is_claimed_after_we_looked_stays_its_workers(
    engine: Engine, store: Store, what: str
) -> None:
    add(store, "a", "b")
    other = engine.open()
    editing = Editing(Interrupted(store.connection, lambda: claim_one(other)))  # type: ignore[attr-defined]
    if what == "hold":
        assert editing.hold(EVERYTHING, NOW) == 1
    else:
        change = {"run_at": MUCH_LATER} if what == "edit" else {"queue": "other"}
        assert editing.edit(EVERYTHING, change, NOW) == 1
    job = get(store, "a")
    assert (job.state, job.held, job.run_at, job.queue) == ("processing", None, NOW, "default")
    assert finish_with(store, job, kinds.SUCCEEDED).state == states.COMPLETED


def test_a_job_that_is_released_and_claimed_after_we_looked_stays_its_workers(
    engine: Engine, store: Store
) -> None:
    add(store, "a")
    store.editing().hold(EVERYTHING, NOW)
    other = engine.open()

    def happens() -> None:
        other.editing().release(EVERYTHING, NOW)
        claim_one(other)

    editing = Editing(Interrupted(store.connection, happens))  # type: ignore[attr-defined]
    assert editing.release(EVERYTHING, NOW) == 0
    assert get(store, "a").state == states.PROCESSING


def test_every_job_is_either_claimed_or_held_however_they_race(engine: Engine, store: Store) -> None:
    names = [f"j{n}" for n in range(120)]
    add(store, *names)
    taken: list[str] = []
    held: list[int] = []

    def take() -> None:
        mine = engine.open()
        while jobs := claim(mine, 3):
            taken.extend(ids(jobs))

    def keep() -> None:
        editing = engine.open().editing()
        held.extend(editing.hold(JobFilter(ids=(name,)), NOW) for name in reversed(names))

    threads = [Thread(target=work) for work in (take, keep, take)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) + sum(held) == len(names)
    assert len(set(taken)) == len(taken)
    assert {job.id for job in store.page(JobFilter(states=("processing",)), limit=200)} == set(taken)
    running = store.page(JobFilter(states=("processing",)), limit=200)  # none, if all were held first
    assert {job.held for job in running} <= {None}
    assert store.count(JobFilter(states=("blocked",), held=True)) == sum(held)


# --- progress -------------------------------------------------------------------------------------------


def test_progress_is_stored_under_the_claim(store: Store) -> None:
    job = job_in(store, states.PROCESSING)
    editing = store.editing()
    assert editing.set_progress("j", str(job.claim), 40, "epoch 4/10 ✓", LATER)
    told = get(store, "j")
    assert (told.progress, told.progress_text, told.updated_at) == (40, "epoch 4/10 ✓", LATER)
    assert (told.state, told.claim, told.started_at) == (job.state, job.claim, job.started_at)
    assert editing.set_progress("j", str(job.claim), 40, "epoch 4/10 ✓", LATER), "the same again is fine"
    assert editing.set_progress("j", str(job.claim), 50, None, LATER)
    assert (get(store, "j").progress, get(store, "j").progress_text) == (50, None)
    assert finish_with(store, job, kinds.SUCCEEDED).state == states.COMPLETED


def test_progress_of_a_claim_that_is_over_is_refused(store: Store) -> None:
    job = job_in(store, states.PROCESSING)
    finish_with(store, job, kinds.FAILED)
    kept = snapshot(store)
    editing = store.editing()
    assert not editing.set_progress("j", str(job.claim), 40, None, NOW)
    assert snapshot(store) == kept
    again = claim_one(store, now=MUCH_LATER)
    assert not editing.set_progress("j", str(job.claim), 40, None, NOW)
    assert not editing.set_progress("j", "", 40, None, NOW)
    assert editing.set_progress("j", str(again.claim), 10, None, NOW)


def test_progress_is_told_for_one_job_of_a_claim(store: Store) -> None:
    add(store, "a", "b", queue="mail")
    add(store, "c")
    first, second, third = claim(store, 3, queues=("mail", "default"))
    assert first.claim == second.claim
    editing = store.editing()
    assert editing.progressing(EVERYTHING, limit=5) == []
    editing.set_progress("b", str(second.claim), 0, None, NOW)
    assert get(store, "a").progress is None
    assert ids(editing.progressing(EVERYTHING, limit=5)) == ["b"]
    editing.set_progress("c", str(third.claim), 100, None, NOW)
    assert ids(editing.progressing(EVERYTHING, limit=5)) == ["b", "c"]
    assert ids(editing.progressing(EVERYTHING, limit=1)) == ["b"]
    assert ids(editing.progressing(JobFilter(queue="default"), limit=5)) == ["c"]
    finish_with(store, second, kinds.SUCCEEDED)
    assert ids(editing.progressing(EVERYTHING, limit=5)) == ["c"], "only what runs"

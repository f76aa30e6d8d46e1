"""What is cleaned away: by age, by number, and output by its size; and what never is."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.jobs import (
    EVERYTHING,
    HOST,
    NOW,
    add,
    claim_one,
    finish,
    finish_with,
    get,
    ids,
    job_in,
    put,
    register,
    report,
    state_of,
)

from queuectl import system
from queuectl.config.settings import Settings
from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.store.messages import JobFilter
from queuectl.upkeep.purger import Purger
from queuectl.upkeep.trimmer import Trimmer


def done(store: Any, id: str, *, at: int, queue: str = "default", **fields: Any) -> None:
    add(store, id, queue=queue, now=at)
    job = claim_one(store, now=at, only=get(store, id).seq)
    finish_with(store, job, kinds.SUCCEEDED, now=at, **fields)


def there(store: Any) -> list[str]:
    return ids(store.page(EVERYTHING, limit=1_000))


@pytest.fixture
def ended(store: Any) -> Any:
    """Six that ended one after the other, in two queues, the oldest with the highest number."""
    register(store)
    for number in range(6):
        done(store, f"{'ab'[number % 2]}{number}", at=NOW + 100 - number, queue="ab"[number % 2])
    add(store, "waits", queue="a")
    return store


def test_of_each_queue_the_newest_stay(ended: Any) -> None:
    assert ended.ended_before(states.COMPLETED, NOW + 1_000, keep=2) == 2
    assert ended.purge(states.COMPLETED, None, limit=100, keep=2)[0] == 2
    assert there(ended) == ["a0", "b1", "a2", "b3", "waits"]
    assert ended.purge(states.COMPLETED, None, limit=100, keep=2) == (0, [])


def test_the_oldest_go_first_and_no_more_at_once_than_allowed(ended: Any) -> None:
    assert ended.purge(states.COMPLETED, None, limit=1, keep=1)[0] == 1
    assert "a4" not in there(ended)
    assert len(there(ended)) == 6


def test_age_and_number_together_delete_what_is_beyond_both(ended: Any) -> None:
    # Of queue a, 100, 98 and 96 after NOW; of b, 99, 97 and 95.
    assert ended.ended_before(states.COMPLETED, NOW + 97, keep=1) == 2
    assert ended.purge(states.COMPLETED, NOW + 97, limit=100, keep=1)[0] == 2
    assert there(ended) == ["a0", "b1", "a2", "b3", "waits"]


def test_other_states_are_not_counted(ended: Any) -> None:
    assert ended.purge(states.DEAD, None, limit=100, keep=1) == (0, [])
    job_in(ended, states.CANCELLED, "c")
    assert ended.purge(states.CANCELLED, None, limit=100, keep=1) == (0, [])


def test_workers_keep_no_more_than_the_settings_say(ended: Any) -> None:
    purge = Purger()
    purge(ended, Settings({"keep-completed-count": "1"}), NOW + 200)
    assert there(ended) == ["a0", "b1", "waits"]
    purge(ended, Settings({"keep-completed-count": "none"}), NOW + 100_000)
    assert there(ended) == ["a0", "b1", "waits"]


def test_a_job_that_others_have_yet_to_hear_of_stays(store: Any) -> None:
    register(store)
    put(store, "first")
    put(store, "then", after_any=["first"])
    store.cancel(JobFilter(ids=("first",)), NOW)
    assert store.purge(states.CANCELLED, NOW + 1, limit=10) == (0, [])
    assert state_of(store, "then") == [states.BLOCKED]
    store.settle(NOW)
    assert state_of(store, "then") == [states.PENDING]
    assert store.purge(states.CANCELLED, NOW + 1, limit=10)[0] == 1
    assert there(store) == ["then"]


# --- output -------------------------------------------------------------------------------------------------


def print_some(store: Any, id: str, size: int, *, at: int = NOW) -> None:
    done(store, id, at=at, output=b"x" * size, output_bytes=size)


def kept(store: Any, id: str) -> int:
    return sum(len(attempt.output or b"") for attempt in store.attempts(get(store, id).seq))


def trim(store: Any, limit: str, at: int = NOW, **sizes: int) -> None:
    Trimmer(lambda: "w1", **sizes)(store, Settings({"keep-output": limit}), at)


def test_the_oldest_output_goes_first_and_the_jobs_stay(store: Any) -> None:
    register(store)
    for number in range(5):
        print_some(store, f"j{number}", 100)
    trim(store, "250", chunk=2)
    assert [kept(store, f"j{number}") for number in range(5)] == [0, 0, 0, 100, 100]
    (attempt,) = store.attempts(get(store, "j0").seq)
    assert (attempt.output, attempt.log, attempt.output_bytes, attempt.output_dropped) == (
        None,
        None,
        100,
        100,
    )
    assert state_of(store, "j0", "j4") == [states.COMPLETED] * 2
    trim(store, "250", chunk=2)
    assert [kept(store, f"j{number}") for number in range(5)] == [0, 0, 0, 100, 100]


def test_a_turn_is_bounded_and_the_next_goes_on(store: Any) -> None:
    register(store)
    for number in range(4):
        print_some(store, f"j{number}", 100)
    cut, settings = Trimmer(lambda: "w1", chunk=1, chunks=2), Settings({"keep-output": "100"})
    left = []
    for turn in range(8):
        cut(store, settings, NOW + turn * 10_000)
        left.append(sum(kept(store, f"j{number}") for number in range(4)))
    # Five steps to find the end, then a step for each.
    assert left == [400, 400, 300, 100, 100, 100, 100, 100]
    cut(store, settings, NOW + 70_001)  # too early


def test_what_has_not_ended_keeps_its_output(store: Any) -> None:
    register(store)
    add(store, "again")
    job = claim_one(store)
    finish_with(store, job, kinds.FAILED, output=b"x" * 500, output_bytes=500)
    print_some(store, "done", 100)
    trim(store, "50")
    assert (kept(store, "again"), kept(store, "done")) == (500, 0)


def test_one_worker_of_a_machine_is_enough(store: Any) -> None:
    register(store, "w0", host=system.hostname())
    register(store, "w1", host=system.hostname())
    print_some(store, "j", 100)
    trim(store, "1")
    assert kept(store, "j") == 100
    store.forget("w0")
    trim(store, "1")
    assert kept(store, "j") == 0


def test_log_files_of_other_machines_are_left_to_those(store: Any) -> None:
    register(store)
    done(store, "far", at=NOW, log="01/1-1.log", output_bytes=10**6)
    (attempt,) = store.attempts(get(store, "far").seq)
    assert attempt.host == HOST != system.hostname()
    trim(store, "1")
    (attempt,) = store.attempts(get(store, "far").seq)
    assert attempt.log == "01/1-1.log"


def test_of_several_machines_one_drops_what_lies_in_the_store(store: Any) -> None:
    """Both see it; if each dropped what is too much, twice as much would go."""
    machines = {"w1": "east", "w2": "west"}
    for id, host in machines.items():
        register(store, id, host=host)
    for number in range(6):
        print_some(store, f"j{number}", 100)

    def trimmer_of(id: str) -> Trimmer:
        # One job a turn: each is in the middle of its walk when it is the other's turn.
        return Trimmer(lambda: id, chunk=1, chunks=1, host=lambda: machines[id])

    trimmers = {id: trimmer_of(id) for id in machines}

    def turns(count: int, start: int) -> list[int]:
        for turn in range(start, start + count):
            for trim in trimmers.values():
                trim(store, Settings({"keep-output": "400"}), NOW + turn * 10_000)
        return [kept(store, f"j{number}") for number in range(6)]

    assert turns(20, 0) == [0, 0, 100, 100, 100, 100]
    # The other one takes over when the first has gone.
    register(store, "w9", host="nowhere")
    add(store, "late")
    job = claim_one(store, worker_id="w9")
    late = report(job, output=b"x" * 200, output_bytes=200)
    assert finish(store, late, worker_id="w9") == []
    store.forget("w1")
    del trimmers["w1"]
    assert turns(20, 20) == [0, 0, 0, 0, 100, 100]


def test_which_attempts_have_lost_their_output(store: Any) -> None:
    register(store)
    print_some(store, "a", 10)
    print_some(store, "b", 10)
    trim(store, "10")
    one, other = (get(store, id).seq for id in "ab")
    assert store.outputs().cleaned([(one, 1), (other, 1), (one, 2)]) == {(one, 1)}


def test_of_many_that_ended_at_the_same_moment_only_so_many_stay(store: Any) -> None:
    """All jobs of a cancel have one time: a cut by the time alone would find nothing before it."""
    add(store, *(f"j{number}" for number in range(30)))
    store.cancel(EVERYTHING, NOW)
    deleted = 0
    while count := store.purge(states.CANCELLED, None, limit=8, keep=10)[0]:
        deleted += count
    assert (deleted, there(store)) == (20, [f"j{number}" for number in range(20, 30)])


def test_output_of_a_job_that_has_not_ended_does_not_shield_the_others(store: Any) -> None:
    register(store)
    add(store, "retried")
    finish_with(store, claim_one(store), kinds.FAILED, output=b"x" * 900, output_bytes=900)
    for number in range(3):
        done(store, f"d{number}", at=NOW + number, output=b"y" * 300, output_bytes=300)
    trim = Trimmer(lambda: "w1")
    settings = Settings({"keep-output": "1000"})
    for turn in range(5):
        trim(store, settings, NOW + 20_000 * (turn + 1))
    left = [len(store.attempts(get(store, id).seq)[0].output or b"") for id in ("retried", "d0", "d1", "d2")]
    assert left[0] == 900
    assert sum(left) <= 1000


def test_jobs_that_others_wait_for_hold_retention_up_only_until_those_are_told(store: Any) -> None:
    """All the oldest have children that have yet to hear of their end, and wait for another job as well."""
    put(store, "gate")
    old, new = ([f"{name}{number}" for number in range(4)] for name in ("old", "new"))
    for id in old:
        put(store, id)
        put(store, f"{id}-child", after_any=[id, "gate"])
    add(store, *new)
    store.cancel(JobFilter(ids=tuple(old)), NOW)
    store.cancel(JobFilter(ids=tuple(new)), NOW + 1)
    for keep, before in ((2, None), (0, NOW + 1)):
        assert store.purge(states.CANCELLED, before, limit=2, keep=keep) == (0, [])
    store.settle(NOW + 1)
    assert [store.purge(states.CANCELLED, None, limit=2, keep=3)[0] for _ in range(4)] == [2, 2, 1, 0]
    assert [id for id in there(store) if id in (*old, *new)] == new[1:]
    assert state_of(store, *(f"{id}-child" for id in old)) == [states.BLOCKED] * 4

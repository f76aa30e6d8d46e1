"""Bringing jobs in: all or nothing, in order, each id once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.support.jobs import (
    EVERYTHING,
    NOW,
    add,
    claim_one,
    finish_with,
    get,
    ids,
    new_job,
    register,
    snapshot,
)

from queuectl.core import outcome as kinds
from queuectl.core.batches import Commands, give_ids
from queuectl.core.job import Job
from queuectl.core.spec import Defaults, job_from_fields
from queuectl.errors import DuplicateId, InvalidInput
from queuectl.store.messages import JobFilter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.stores import Engine

    from queuectl.core.job import NewJob
    from queuectl.store.api import Store


def test_a_new_job_is_pending_and_due_now(store: Store) -> None:
    assert store.enqueue([[new_job("a")]], NOW) == 1
    job = get(store, "a")
    assert (job.state, job.run_at, job.created_at, job.updated_at) == ("pending", NOW, NOW, NOW)
    assert (job.attempts, job.runs, job.lost, job.cancel_requested) == (0, 0, 0, 0)
    assert (job.claim, job.worker_id, job.started_at, job.finished_at) == (None,) * 4
    assert (job.exit_code, job.signal, job.last_error) == (None,) * 3


def test_every_field_comes_back_as_it_went_in(store: Store) -> None:
    fields = {
        "command": "printf 'é ✓ 日本 \\n' \t\x1b[0m 'quote\"'",
        "argv": '["printf", "é"]',
        "queue": "mail.fast",
        "priority": -(2**31) + 1,
        "max_retries": 1_000_000,
        "backoff_strategy": "linear",
        "backoff_base": 1.5,
        "backoff_max": 3_155_760_000_000,
        "retry_delay": 1,
        "timeout": 86_400_000,
        "run_at": 253_402_300_799_999,
        "cwd": "/srv/ü",
        "env": '{"A": "b"}',
        "tags": ",a,b/c,",
    }
    store.enqueue([[new_job("Job.1_x-y:z@h=+", **fields)]], NOW)
    job = get(store, "Job.1_x-y:z@h=+")
    assert {name: getattr(job, name) for name in fields} == fields


def test_another_connection_sees_it_at_once(engine: Engine) -> None:
    writer, reader = engine.open(), engine.open()
    add(writer, "a")
    assert get(reader, "a").state == "pending"


def test_many_batches_are_stored_in_their_order(store: Store) -> None:
    batches = [[new_job(f"{batch}-{n}") for n in range(5)] for batch in range(4)]
    assert store.enqueue(batches, NOW) == 20
    expected = [f"{batch}-{n}" for batch in range(4) for n in range(5)]
    assert ids(store.page(EVERYTHING, limit=100)) == expected


def test_no_jobs_are_no_error(store: Store) -> None:
    assert store.enqueue([], NOW) == 0
    assert store.enqueue([[]], NOW) == 0


def test_ten_thousand_jobs_go_in_together(store: Store) -> None:
    batches = ([new_job(f"{start + n:05d}") for n in range(1_000)] for start in range(0, 10_000, 1_000))
    assert store.enqueue(batches, NOW) == 10_000
    assert store.count(EVERYTHING) == 10_000
    last = store.page(EVERYTHING, limit=1, descending=True)
    assert ids(last) == ["09999"]


@pytest.mark.parametrize(("later", "state"), [(1, "scheduled"), (0, "pending"), (-5_000, "pending")])
def test_a_job_of_the_future_is_scheduled_and_one_of_the_past_is_due_now(
    store: Store, later: int, state: str
) -> None:
    add(store, "a", run_at=NOW + later)
    job = get(store, "a")
    assert (job.state, job.run_at) == (state, NOW + max(later, 0))


@pytest.mark.parametrize(
    ("before", "batches", "offender", "why"),
    [
        (["c"], [["a", "b", "c", "d"]], "c", "exists already (pending)"),
        (["c"], [["a"], ["b"], ["c"], ["d"]], "c", "exists already (pending)"),
        ([], [["a", "b", "b", "c"]], "b", "given twice"),
        ([], [["a"], ["b", "c"], ["d", "a"]], "a", "given twice"),
        (["x"], [["a", "b"], ["a", "x"]], "a", "given twice"),
    ],
)
def test_a_duplicate_is_named_and_nothing_of_the_call_is_stored(
    store: Store, before: list[str], batches: list[list[str]], offender: str, why: str
) -> None:
    add(store, *before)
    kept = snapshot(store)
    with pytest.raises(DuplicateId) as caught:
        store.enqueue([[new_job(id) for id in batch] for batch in batches], NOW)
    assert offender in caught.value.message.split()
    assert why in caught.value.message
    assert snapshot(store) == kept


@pytest.mark.parametrize("place", [0, 99, 100, 249])
@pytest.mark.parametrize("way", ["enqueue", "enqueue_staged"])
def test_a_duplicate_among_very_many_is_named(store: Store, place: int, way: str) -> None:
    add(store, "old")
    kept = snapshot(store)
    names = [f"j{n}" for n in range(250)]
    for offender, why in (("old", "exists already"), ("j42", "given twice")):
        batch = [new_job(offender if n == place else name) for n, name in enumerate(names)]
        with pytest.raises(DuplicateId, match=why) as caught:
            getattr(store, way)([batch, [new_job("other")]], NOW)
        assert caught.value.id == offender
        assert snapshot(store) == kept


def commands(*lines: str, **fields: object) -> Commands:
    defaults = Defaults(now=NOW, cwd="/srv")
    batch = Commands(lines, job_from_fields({**fields, "command": lines[0]}, defaults))
    give_ids(batch, (f"{line}-id" for line in lines))
    return batch


@pytest.mark.parametrize("way", ["enqueue", "enqueue_staged"])
def test_commands_that_are_alike_are_stored_like_any_other_jobs(engine: Engine, way: str) -> None:
    fields = {"queue": "mail", "priority": 3, "timeout": "10m", "tags": ["a"], "env": {"A": "b"}, "delay": 5}
    lines = [f"echo{n}" for n in range(250)]
    one, other = engine.open(), engine.another().open()
    assert getattr(one, way)([commands(*lines, **fields)], NOW) == 250
    assert getattr(other, way)([list(commands(*lines, **fields))], NOW) == 250
    names = [name for name in Job.__slots__ if name != "seq"]
    first, second = (
        [[getattr(job, name) for name in names] for job in store.page(EVERYTHING, limit=1_000)]
        for store in (one, other)
    )
    assert first == second
    assert ids(one.page(EVERYTHING, limit=300)) == [f"{line}-id" for line in lines]


@pytest.mark.parametrize("way", ["enqueue", "enqueue_staged"])
def test_ids_made_for_commands_are_never_skipped(store: Store, way: str) -> None:
    add(store, "b-id")
    for skip in (False, True):
        with pytest.raises(DuplicateId, match="job b-id exists already"):
            getattr(store, way)([commands("a", "b")], NOW, skip=skip)
    assert getattr(store, way)([[new_job("b-id"), new_job("c")], commands("d")], NOW, skip=True) == 2
    assert ids(store.page(EVERYTHING, limit=10)) in (["b-id", "c", "d-id"], ["b-id", "d-id", "c"])


def test_case_matters_in_ids(store: Store) -> None:
    add(store, "job", "Job", "JOB")
    assert get(store, "Job").id == "Job"
    assert store.get("jOB") is None


def test_an_id_is_taken_whatever_became_of_its_job(store: Store) -> None:
    register(store)
    add(store, "a")
    finish_with(store, claim_one(store), kinds.SUCCEEDED)
    with pytest.raises(DuplicateId, match=r"job a exists already \(completed\)"):
        add(store, "a")


def test_skip_leaves_the_stored_job_as_it_is_and_counts_only_new_ones(store: Store) -> None:
    add(store, "a", command="old")
    batches = [[new_job("a", command="new"), new_job("b")], [new_job("b"), new_job("c")]]
    assert store.enqueue(batches, NOW + 1, skip=True) == 2
    assert get(store, "a").command == "old"
    assert ids(store.page(EVERYTHING, limit=10)) == ["a", "b", "c"]


def test_a_repeated_enqueue_after_a_lost_answer_changes_nothing(store: Store) -> None:
    batch = [new_job(f"j{n}") for n in range(10)]
    store.enqueue([batch], NOW)
    kept = snapshot(store)
    assert store.enqueue([batch], NOW + 5_000, skip=True) == 0
    assert snapshot(store) == kept


def test_an_id_of_our_own_making_is_never_skipped(store: Store) -> None:
    add(store, "a", "b")
    with pytest.raises(DuplicateId, match="job b exists already"):
        store.enqueue([[new_job("a"), new_job("b", made=True), new_job("c")]], NOW, skip=True)
    assert store.get("c") is None
    assert store.enqueue([[new_job("a"), new_job("m", made=True), new_job("c")]], NOW, skip=True) == 2
    assert ids(store.page(EVERYTHING, limit=10)) == ["a", "b", "m", "c"]


def test_a_producer_that_fails_half_way_leaves_nothing(store: Store) -> None:
    def producer() -> Iterator[list[NewJob]]:
        yield [new_job("a")]
        raise InvalidInput("line 2 is not JSON")

    with pytest.raises(InvalidInput, match="line 2"):
        store.enqueue(producer(), NOW)
    assert store.count(EVERYTHING) == 0
    add(store, "a")  # and the store goes on


def test_ids_that_are_no_text_are_refused_not_a_crash(store: Store) -> None:
    with pytest.raises(InvalidInput, match="not text"):
        store.get("\udcff")
    with pytest.raises(InvalidInput, match="not text"):
        store.count(JobFilter(text="\udcff"))
    with pytest.raises(InvalidInput, match="not text"):
        store.enqueue([[new_job("a", cwd="/\udcff")]], NOW)
    assert store.count(EVERYTHING) == 0


def test_a_staged_batch_is_all_or_nothing_too(store: Store) -> None:
    assert store.enqueue_staged([[new_job(id="a"), new_job(id="b")], [new_job(id="c")]], NOW) == 3
    with pytest.raises(DuplicateId, match="job b exists already"):
        store.enqueue_staged([[new_job(id="d")], [new_job(id="b")]], NOW)
    with pytest.raises(DuplicateId, match="e is given twice"):
        store.enqueue_staged([[new_job(id="e")], [new_job(id="e")]], NOW)
    assert store.enqueue_staged([[new_job(id="b"), new_job(id="f")]], NOW, skip=True) == 1
    assert [job.id for job in store.page(JobFilter(), limit=10)] == ["a", "b", "c", "f"]


def test_while_a_batch_is_staged_others_can_write(engine: Engine) -> None:
    one, other = engine.open(), engine.open()

    def batches() -> Iterator[list[NewJob]]:
        yield [new_job(id="slow1")]
        assert other.enqueue([[new_job(id="quick")]], NOW) == 1
        yield [new_job(id="slow2")]

    assert one.enqueue_staged(batches(), NOW) == 2
    assert {job.id for job in one.page(JobFilter(), limit=10)} == {"quick", "slow1", "slow2"}

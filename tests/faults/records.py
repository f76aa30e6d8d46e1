"""Compares what was acknowledged, what really ran, and what the store says in the end."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from queuectl.core import states
from tests.support.shared_queue import SharedQueue

# One line for every start, in one write.
RECORD = 'echo "$QUEUECTL_JOB_ID $QUEUECTL_ATTEMPT" >> runs.log'


class Kept(NamedTuple):
    """What the store knows of one job."""

    state: str
    attempts: int
    runs: int
    outcomes: tuple[str, ...]
    numbers: tuple[int, ...]  # of the attempts
    workers: tuple[str, ...]
    claimed: bool


def started(place: SharedQueue) -> Counter[tuple[str, int]]:
    """How often each attempt at each job was really started."""
    log = place.work / "runs.log"
    lines = log.read_text().splitlines() if log.exists() else []
    return Counter((line.split()[0], int(line.split()[1])) for line in lines)


def kept(place: SharedQueue) -> dict[str, Kept]:
    ask = place.store.connection.all  # type: ignore[attr-defined]  # one question for thousands of jobs
    records = defaultdict(list)
    for seq, *record in ask(
        "SELECT job_seq, outcome, attempt, worker_id FROM attempts ORDER BY job_seq, run"
    ):
        records[seq].append(record)
    jobs = ask("SELECT seq, id, state, attempts, runs, claim, worker_id FROM jobs")
    found = {}
    for seq, id, state, attempts, runs, claim, worker in jobs:
        outcomes, numbers, workers = zip(*records.pop(seq), strict=True) if records[seq] else ((), (), ())
        found[id] = Kept(state, attempts, runs, outcomes, numbers, workers, bool(claim or worker))
    assert not {seq for seq, left in records.items() if left}, "attempts at jobs that are not there"
    return found


def assert_each_ran_once(place: SharedQueue, ids: Iterable[str]) -> None:
    """All completed at their first attempt, one record each, one start each: no fault was felt."""
    found, begun = kept(place), started(place)
    wrong = {id: found.get(id) for id in ids if not _is_perfect(found.get(id)) or begun[id, 1] != 1}
    assert not wrong, (len(wrong), list(wrong.items())[:5])
    assert begun.keys() <= {(id, 1) for id in found}


def assert_each_completed_once(place: SharedQueue, ids: Iterable[str]) -> None:
    """Whatever was lost on the way: one success, the last; every start has a record and its number."""
    found, begun = kept(place), started(place)
    for id in ids:
        job = found[id]
        assert (job.state, job.claimed) == (states.COMPLETED, False), (id, job)
        assert job.outcomes.count("succeeded") == 1, (id, job)
        assert job.outcomes[-1] == "succeeded", (id, job)
        assert job.numbers == tuple(range(1, len(job.numbers) + 1)), (id, job)
        assert job.attempts == job.runs == len(job.outcomes), (id, job)
        starts = {number: begun[id, number] for number in job.numbers}
        # An attempt may be lost before its command began; a success cannot.
        assert max(starts.values()) == starts[job.numbers[-1]] == 1, (id, job, starts)


def _is_perfect(job: Kept | None) -> bool:
    return (
        job is not None
        and (job.state, job.attempts, job.runs, job.claimed) == (states.COMPLETED, 1, 1, False)
        and (job.outcomes, job.numbers) == (("succeeded",), (1,))
    )

"""Compares what was acknowledged, what ran, and what the store says in the end."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from queuectl import Queue
from queuectl.core import states
from queuectl.queue import JobFilter
from queuectl.testing import wait_until
from tests.support.home import Home

# Every start of a job appends one line, in one write.
RECORD = 'printf "%s %s\\n" "$QUEUECTL_JOB_ID" "$QUEUECTL_ATTEMPT" >> runs.log; '
# Hangs in its first attempt only; a second one is the proof that it was run again.
HANGS_ONCE = RECORD + 'test "$QUEUECTL_ATTEMPT" -gt 1 || sleep 60'

# What must never be found, at no moment and whoever was killed.
CONTRADICTIONS = {
    "a claim on a job that nobody runs, or none on one that runs": """
        SELECT id, state, claim FROM jobs
        WHERE (state = 'processing' AND (claim IS NULL OR worker_id IS NULL))
           OR (state <> 'processing' AND (claim IS NOT NULL OR worker_id IS NOT NULL))
        """,
    "a running job whose worker nobody knows": """
        SELECT id, worker_id FROM jobs
        WHERE state = 'processing' AND worker_id NOT IN (SELECT id FROM workers)
        """,
    "an attempt without its job": """
        SELECT job_seq, run FROM attempts WHERE job_seq NOT IN (SELECT seq FROM jobs)
        """,
    "one run of a job recorded twice": """
        SELECT job_seq, run FROM attempts GROUP BY job_seq, run HAVING count(*) > 1
        """,
    "another number of runs than of their records": """
        SELECT id, runs FROM jobs
        WHERE runs - CASE state WHEN 'processing' THEN 1 ELSE 0 END
           <> (SELECT count(*) FROM attempts WHERE job_seq = jobs.seq)
        """,
}


def put(home: Home, *ids: str, command: str = RECORD + "echo done", **fields: object) -> None:
    """Enqueue these jobs, and hear that they are stored."""
    with home.queue() as queue:
        queue.enqueue_many(
            [{"id": id, "command": command, "cwd": str(home.work), **fields} for id in ids],
        )


def end_lease(home: Home, pid: int) -> None:
    """As if the worker had not renewed it in time; nobody has to wait for that."""
    with home.queue() as queue:
        db = queue.store.connection
        sql = "UPDATE workers SET lease_until = 1 WHERE pid = ?"
        assert db.write("change", lambda _: db.run(sql, (pid,))) == 1


def runs(home: Home) -> Counter[str]:
    """How often each job was really started."""
    log = home.work / "runs.log"
    lines = log.read_text().splitlines() if log.exists() else []
    return Counter(line.split()[0] for line in lines)


def settle(home: Home, *, timeout: float = 30) -> None:
    """Until every job has ended."""
    with home.queue() as queue:
        wait_until(lambda: queue.store.unfinished(JobFilter()) == 0, timeout=timeout, what="all jobs to end")


def check(home: Home, acknowledged: list[str]) -> None:
    """Nothing lost, one completion each, attempts right, the store whole, no process left over."""
    started = runs(home)
    with home.queue() as queue:
        check_whole(queue)
        _check_counts(queue)
        for id in acknowledged:
            job = queue.get(id)
            attempts = queue.attempts(job)
            outcomes = [attempt.outcome for attempt in attempts]
            assert job.state == states.COMPLETED, (id, job.state, outcomes)
            assert outcomes.count("succeeded") == 1, (id, outcomes)
            assert outcomes[-1] == "succeeded", (id, outcomes)
            assert len({attempt.claim for attempt in attempts}) == len(attempts)
            assert job.attempts == len(attempts) - outcomes.count("released")
            assert job.attempts <= job.max_retries + 1
            # An attempt may be lost before its command began, never the other way round.
            assert 1 <= started[id] <= len(attempts), (id, started[id], outcomes)
    assert no_job_processes(home)


def check_whole(queue: Queue) -> None:
    """The store agrees with itself; may be asked at any moment."""
    db = queue.store.connection
    found = {what: rows for what, sql in CONTRADICTIONS.items() if (rows := db.all(sql))}
    assert not found
    if not queue.store.location.shared:
        assert db.all("PRAGMA integrity_check") == [("ok",)]


def _check_counts(queue: Queue) -> None:
    """What `status` says is what the rows say; only while nobody is at work."""
    db = queue.store.connection
    rows = Counter(state for (state,) in db.all("SELECT state FROM jobs"))
    assert Counter(queue.stats().counts) == rows


def no_job_processes(home: Home) -> bool:
    for pid in home.pids():
        try:
            environ = Path("/proc", str(pid), "environ").read_bytes()
        except OSError:
            continue
        if b"QUEUECTL_ATTEMPT_TOKEN=" in environ and pid != os.getpid():
            return False
    return True

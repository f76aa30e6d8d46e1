"""Compares what was acknowledged, what ran, and what the store says in the end."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from queuectl.core import states
from queuectl.queue import JobFilter
from queuectl.testing import wait_until
from tests.site import Site

# Every start of a job appends one line, in one write.
RECORD = 'printf "%s %s\\n" "$QUEUECTL_JOB_ID" "$QUEUECTL_ATTEMPT" >> runs.log; '


def runs(site: Site) -> Counter[str]:
    """How often each job was really started."""
    log = site.work / "runs.log"
    lines = log.read_text().splitlines() if log.exists() else []
    return Counter(line.split()[0] for line in lines)


def settle(site: Site, *, timeout: float = 30) -> None:
    """Until every job has ended."""
    with site.queue() as queue:
        wait_until(lambda: queue.store.unfinished(JobFilter()) == 0, timeout=timeout, what="all jobs to end")


def check(site: Site, acknowledged: list[str]) -> None:
    """Nothing lost, one completion each, attempts right, the store whole, no process left over."""
    started = runs(site)
    with site.queue() as queue:
        assert queue.store.connection.all("PRAGMA integrity_check") == [("ok",)]  # type: ignore[attr-defined]
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
            assert job.claim is None
            assert job.worker_id is None
    assert no_job_processes(site)


def no_job_processes(site: Site) -> bool:
    for pid in site.pids():
        try:
            environ = Path("/proc", str(pid), "environ").read_bytes()
        except OSError:
            continue
        if b"QUEUECTL_ATTEMPT_TOKEN=" in environ and pid != os.getpid():
            return False
    return True

"""Compares what was acknowledged, what ran, and what the store says in the end.

The jobs say themselves what ran: each start and each end is one line, appended by one write to a file that
all share, so the lines have one order. The store is asked when nobody is at work any more.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from tests.crash.checker import CONTRADICTIONS
from tests.support.home import Home

from proof.verdict import Verdict
from queuectl import Queue
from queuectl.core import states
from queuectl.queue import JobFilter
from queuectl.store.tallies import wrong
from queuectl.testing import wait_until

LOG = "runs.log"
_LINE = 'printf "%s %s %s\\n" {word} "$QUEUECTL_JOB_ID" "$QUEUECTL_ATTEMPT_TOKEN" >> {log}'


def recorded(command: str, log: Path) -> str:
    """A command that tells of its start and, if it comes so far, of its end."""
    return f"{_LINE.format(word='start', log=log)}; {command}; {_LINE.format(word='end', log=log)}"


class RunLog:
    """The lines of one file: for each job, its runs (by their tokens) in the order in which they began."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.starts: dict[str, list[str]] = defaultdict(list)
        self.late_ends: list[str] = []  # jobs of which a run ended after the next had begun
        for line in file.read_text().splitlines() if file.exists() else []:
            word, job, token = line.split(" ")
            if word == "start":
                self.starts[job].append(token)
            elif token != self.starts[job][-1]:
                self.late_ends.append(job)


def settle(home: Home, *, timeout: float = 60) -> None:
    """Until every job has ended."""
    with home.queue() as queue:
        wait_until(lambda: queue.store.unfinished(JobFilter()) == 0, timeout=timeout, what="all jobs to end")


def examine(home: Home, acknowledged: Collection[str], log: RunLog, *, living: Sequence[int] = ()) -> Verdict:
    """After all is quiet. `living`: workers that may go on, and whose commands are no orphans."""
    verdict = Verdict(jobs=len(acknowledged))
    verdict.runs = sum(len(tokens) for tokens in log.starts.values())
    verdict.again = verdict.runs - len(log.starts)
    for job in log.late_ends:
        verdict.note("overlapping", f"a run of {job} ended after the next had begun")
    with home.queue() as queue:
        _examine_jobs(queue, acknowledged, log, verdict)
        examine_store(queue, verdict)
    _examine_processes(home, verdict, living)
    return verdict


def _examine_jobs(queue: Queue, acknowledged: Iterable[str], log: RunLog, verdict: Verdict) -> None:
    db: Any = queue.store.connection
    jobs = {
        str(id): (int(seq), str(state), int(attempts), int(most))
        for id, seq, state, attempts, most in db.all("SELECT id, seq, state, attempts, max_retries FROM jobs")
    }
    outcomes: dict[int, list[str]] = defaultdict(list)
    tokens: dict[int, set[str]] = defaultdict(set)
    for seq, outcome, claim in db.all("SELECT job_seq, outcome, claim FROM attempts ORDER BY job_seq, run"):
        outcomes[int(seq)].append(str(outcome))
        tokens[int(seq)].add(f"{claim}.{seq}")  # as its processes carry it: `Job.token`
    for id in acknowledged:
        if id not in jobs:
            verdict.note("lost", f"{id} was acknowledged and is not there")
            continue
        seq, state, attempts, most = jobs[id]
        _examine_job(id, state, outcomes[seq], verdict)
        if attempts > most + 1:
            verdict.note("beyond", f"{id} has {attempts} attempts of {most + 1}")
        unknown = set(log.starts.get(id, ())) - tokens[seq]
        if unknown:
            verdict.note("unsound", f"{id} ran without a record: {', '.join(sorted(unknown))}")


def _examine_job(id: str, state: str, outcomes: Sequence[str], verdict: Verdict) -> None:
    completions = outcomes.count("succeeded")
    if state not in states.TERMINAL:
        verdict.note("stuck", f"{id} is {state} after {outcomes}")
    if completions > 1:
        verdict.note("double", f"{id} has {completions} completions: {outcomes}")
    if completions and (state != states.COMPLETED or outcomes[-1] != "succeeded"):
        verdict.note("unsound", f"{id} is {state} although it was completed: {outcomes}")
    if state == states.COMPLETED and not completions:
        verdict.note("unsound", f"{id} is completed without a completion: {outcomes}")


def examine_store(queue: Queue, verdict: Verdict) -> None:
    db: Any = queue.store.connection
    for what, sql in CONTRADICTIONS.items():
        for row in db.all(sql):
            verdict.note("unsound", f"{what}: {row}")
    for difference in wrong(db):
        verdict.note("unsound", f"a kept count that is not that of the rows: {difference}")
    if not queue.store.location.shared and (said := db.all("PRAGMA integrity_check")) != [("ok",)]:
        verdict.note("unsound", f"integrity_check: {said}")


def _examine_processes(home: Home, verdict: Verdict, living: Sequence[int]) -> None:
    ours = set(home.pids())
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path("/proc", name, "stat").read_text().rpartition(")")[2].split()
            environ = Path("/proc", name, "environ").read_bytes() if int(name) in ours else b""
        except OSError:
            continue
        if words[0] == "Z" and int(words[1]) in ours:
            verdict.note("zombies", f"process {name} of {words[1]}")
        if b"QUEUECTL_ATTEMPT_TOKEN=" in environ and int(words[1]) not in living:
            verdict.note("orphans", f"process {name} of {words[1]}")

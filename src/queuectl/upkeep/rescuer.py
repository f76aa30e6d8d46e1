"""Frees the jobs of workers that are gone: notices their death, kills what is left of them, gives a verdict.

Rescue has no SQL of its own: what a lost job becomes is decided by `lifecycle` and stored by `finish`, fenced
by the claim, so a job that finished meanwhile is left alone.
"""

from __future__ import annotations

import os
import signal
import struct
import time

from queuectl import doorbell, system
from queuectl.core import outcome as kinds
from queuectl.core.lifecycle import decide
from queuectl.core.outcome import Outcome
from queuectl.events import emit
from queuectl.failpoints import failpoint
from queuectl.logfiles import log_name
from queuectl.paths import inside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from queuectl.config.settings import Settings
    from queuectl.core.job import Job
    from queuectl.store.api import Store
    from queuectl.store.messages import Worker

_KILL_WITHIN = 5.0  # seconds; a process stuck in the kernel must not keep its job from everybody


class Rescuer:
    """Called at every heartbeat of a worker."""

    def __init__(self, me: Callable[[], str]) -> None:
        self._me = me
        self._looked = False

    def __call__(self, store: Store, settings: Settings, now: int) -> None:
        """All are read once, when some of an earlier boot may be there, and when somebody is gone."""
        by = self._me()
        if not self._looked or any(_is_gone(worker, store) for worker in store.suspects(by)):
            rescue(store, settings, now, by=by)
            self._looked = True


def _is_gone(worker: Worker, store: Store) -> bool:
    return worker.state == "dead" or store.lease_ended(worker) or store.presence(worker) == system.DEAD


def rescue(store: Store, settings: Settings, now: int, *, by: str | None = None) -> int:
    """Free the jobs of every worker that is gone; returns how many jobs.

    `by`: the worker that looks. It need not ask for the process of each: those after it, up to the first that
    lives, are enough, since that one looks at those after itself. So each is looked at by one, however many
    there are; if that one hangs, the lease still tells.
    """
    freed = 0
    asks = True
    for worker in _after(store.workers(), by):
        gone = worker.state == "dead" or store.lease_ended(worker)
        if asks and not gone:
            presence = store.presence(worker)
            gone = presence == system.DEAD
            asks = by is None or presence != system.ALIVE
        if gone and store.bury(worker):
            failpoint("reap.selected")
            freed += _free(worker, store, settings, now)
    return freed


def _after(workers: Sequence[Worker], id: str | None) -> Sequence[Worker]:
    """The others, in a circle that begins behind this one."""
    workers = sorted(workers, key=lambda worker: worker.id)
    for place, worker in enumerate(workers):
        if worker.id == id:
            return [*workers[place + 1 :], *workers[:place]]
    return workers


def _free(worker: Worker, store: Store, settings: Settings, now: int) -> int:
    run_dir = store.location.run_dir
    ledger = inside(run_dir, worker.id + ".ledger")
    jobs = store.claimed_by(worker.id)
    started = _started(ledger, worker)
    if _was_here(worker):
        # Before anybody may run them again, what is left of their processes is gone.
        _kill_remains(jobs, started if started and _saw_our_numbers(worker) else {}, worker.session)
    failpoint("reap.killed")
    reports = [
        decide(job, _verdict(job, started, worker, store, now), settings.policy, now=now) for job in jobs
    ]
    stale = store.finish(reports, worker.id, worker.host, now)
    failpoint("reap.committed")
    store.forget(worker.id)
    for path in (doorbell.bell_path(run_dir, worker.id), ledger):
        try:
            os.unlink(path)
        except OSError:
            pass  # it is gone; or the id is none of ours, and no name for a file: the others must be freed
    freed = len(reports) - len(stale)
    emit("worker.rescued", worker=worker.id, jobs=freed)
    doorbell.announce(store, doorbell.JOB)
    return freed


def _was_here(worker: Worker) -> bool:
    """Whether it ran on this machine, whatever that is called by now, and since its last boot."""
    return system.Identity.decode(worker.identity).boot == system.boot_id()


def _saw_our_numbers(worker: Worker) -> bool:
    """Whether the pids that it noted mean the same to us: in another container they are other processes."""
    own, theirs = system.identify(), system.Identity.decode(worker.identity)
    return own is not None and own.namespace != "" and theirs.namespace == own.namespace


def _verdict(
    job: Job, started: dict[int, _Started] | None, worker: Worker, store: Store, now: int
) -> Outcome:
    if started is not None and job.seq not in started:
        return Outcome(kinds.UNSTARTED, finished_at=now)
    outcome = Outcome(kinds.LOST, started_at=job.started_at, finished_at=now)
    outcome.error = f"its worker {worker.id} died"
    if not _was_here(worker):
        return outcome
    name = log_name(job.seq, job.runs)
    try:
        outcome.output_bytes = os.stat(os.path.join(store.location.logs_dir, name)).st_size
        outcome.log = name
    except FileNotFoundError:
        pass
    return outcome


def _started(path: str, worker: Worker) -> dict[int, _Started] | None:
    """The jobs that a worker had started, with their processes; None if that cannot be told."""
    if not _was_here(worker):
        return None  # the file survives a killed worker, not a power loss
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return None
    pairs = struct.iter_unpack("<qq", data[: len(data) // 16 * 16])
    return {seq: _Started(process) for seq, process in pairs if seq}


class _Started:
    """The process of a job, as the ledger of its worker tells."""

    __slots__ = ("birth", "pid")

    def __init__(self, noted: int) -> None:
        pid = noted & 0x7FFFFFFF
        self.pid = (
            pid if pid > 1 else 0
        )  # 0: it was about to be started. 1 is no command: the file is damaged
        self.birth = noted >> 32 & 0x7FFFFFFF  # 0: it had only just begun


def _is_another(process: _Started) -> bool:
    """Whether its number means a stranger now. Then it was free in between: none of its group is left."""
    return process.birth != 0 and system.birth_mark(process.pid) not in (0, process.birth)


def _kill_remains(jobs: Sequence[Job], started: dict[int, _Started], session: int) -> None:
    deadline = time.monotonic() + _KILL_WITHIN
    while True:
        left: set[int] = set()
        if jobs:
            for found in system.kin_of_many([job.token for job in jobs]).values():
                left.update(found)
        for job in jobs:
            leader = started.get(job.seq)
            if leader and leader.pid and system.group_alive(leader.pid) and not _is_another(leader):
                # Without its token in the environment it still is in its group and in our session.
                left.update(system.kin(job.token, leader.pid, session))
        if not left or time.monotonic() > deadline:
            return
        system.kill_pids(left, signal.SIGKILL)
        time.sleep(0.005)

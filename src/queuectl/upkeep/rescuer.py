"""Frees the jobs of workers that are gone: notices their death, kills what is left of them, gives a verdict.

Rescue has no SQL of its own: what a lost job becomes is decided by `lifecycle` and stored by `finish`, fenced
by the claim, so a job that finished meanwhile is left alone.
"""

from __future__ import annotations

import os

from queuectl import doorbell, system
from queuectl.core import outcome as kinds
from queuectl.core.lifecycle import decide
from queuectl.core.outcome import Outcome
from queuectl.core.times import iso
from queuectl.events import emit
from queuectl.failpoints import failpoint
from queuectl.logfiles import log_name
from queuectl.paths import inside
from queuectl.upkeep.remains import KILL_WITHIN, kill_remains, read_ledger
from queuectl.upkeep.strays import clear_strays

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from queuectl.config.settings import Settings
    from queuectl.core.job import Job
    from queuectl.store.api import Store
    from queuectl.store.messages import Worker
    from queuectl.upkeep.remains import Started


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
            if not self._looked:
                clear_strays(store, settings.worker_lease)
            self._looked = True


def _is_gone(worker: Worker, store: Store) -> bool:
    return worker.state == "dead" or store.lease_ended(worker) or store.presence(worker) == system.DEAD


def rescue(
    store: Store, settings: Settings, now: int, *, by: str | None = None, kill_within: float = KILL_WITHIN
) -> int:
    """Free the jobs of every worker that is gone; returns how many jobs.

    `by`: the worker that looks. It need not ask for the process of each: those after it, up to the first that
    lives, are enough, since that one looks at those after itself. So each is looked at by one, however many
    there are; if that one hangs, the lease still tells.
    `kill_within`: for how many seconds processes are killed that go on forking. A job whose processes are not
    gone by then stays with its dead worker, until the next rescue.
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
            freed += _free(worker, store, settings, now, kill_within)
    return freed


def _after(workers: Sequence[Worker], id: str | None) -> Sequence[Worker]:
    """The others, in a circle that begins behind this one."""
    workers = sorted(workers, key=lambda worker: worker.id)
    for place, worker in enumerate(workers):
        if worker.id == id:
            return [*workers[place + 1 :], *workers[:place]]
    return workers


def _free(worker: Worker, store: Store, settings: Settings, now: int, kill_within: float) -> int:
    run_dir = store.location.run_dir
    ledger = inside(run_dir, worker.id + ".ledger")
    jobs = store.claimed_by(worker.id)
    started = _started(ledger, worker)
    if _was_here(worker):
        # Before anybody may run them again, what is left of their processes is gone.
        processes = started if started and _saw_our_numbers(worker) else {}
        if not kill_remains(jobs, processes, worker.session, within=kill_within):
            emit("worker.outlived", worker=worker.id, jobs=len(jobs))
            return 0
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


def _verdict(job: Job, started: dict[int, Started] | None, worker: Worker, store: Store, now: int) -> Outcome:
    if started is not None and job.seq not in started:
        return Outcome(kinds.UNSTARTED, finished_at=now)
    outcome = Outcome(kinds.LOST, started_at=job.started_at, finished_at=now)
    outcome.error = _what_is_known(worker)
    if not _was_here(worker):
        return outcome
    name = log_name(job.seq, job.runs)
    try:
        outcome.output_bytes = os.stat(os.path.join(store.location.logs_dir, name)).st_size
        outcome.log = name
    except FileNotFoundError:
        pass
    return outcome


def _what_is_known(worker: Worker) -> str:
    """Its row goes away with the rescue: who was lost, and when it was last seen, is kept here alone."""
    seen = f"last seen {iso(worker.seen_at)}"
    if _was_here(worker):
        return f"its worker {worker.id} died, {seen}"
    if worker.host == system.hostname():
        return f"its machine was started anew; worker {worker.id}, {seen}, went with it"
    return f"its worker {worker.id} was not heard of any more from {worker.host}, {seen}"


def _started(path: str, worker: Worker) -> dict[int, Started] | None:
    """The jobs that a worker had started, with their processes; None if that cannot be told."""
    # The file survives a killed worker, not a power loss.
    return read_ledger(path) if _was_here(worker) else None

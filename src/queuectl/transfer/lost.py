"""Jobs that were running when a backup was made: their workers are not in it, so they count as lost.

Nothing is killed: the processes of these jobs may be those of the queue that was backed up, which lives on.
"""

from __future__ import annotations

from queuectl import system
from queuectl.core import outcome as kinds
from queuectl.core.lifecycle import decide
from queuectl.core.outcome import Outcome
from queuectl.core.states import PROCESSING
from queuectl.store.messages import JobFilter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.core.job import Job
    from queuectl.core.lifecycle import Policy, Report
    from queuectl.store.api import Store

_AT_ONCE = 500


def free_running(store: Store, policy: Policy, now: int) -> int:
    """Give a verdict on each, as on the jobs of workers that died; returns how many there were."""
    freed = 0
    while jobs := store.page(JobFilter(states=(PROCESSING,)), limit=_AT_ONCE):
        store.finish([_verdict(job, policy, now) for job in jobs], "restore", system.hostname(), now)
        freed += len(jobs)
    for worker in store.workers():
        store.forget(worker.id)
    store.settle(now)
    return freed


def _verdict(job: Job, policy: Policy, now: int) -> Report:
    outcome = Outcome(kinds.LOST, started_at=job.started_at, finished_at=now)
    outcome.error = "it was running when the backup was made"
    return decide(job, outcome, policy, now=now)

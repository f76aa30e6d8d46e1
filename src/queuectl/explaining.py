"""Why a job does not run, or how it ended: gathers what bears on it; the conclusions are those of `core`."""

from __future__ import annotations

from queuectl.app import living_workers
from queuectl.core import states
from queuectl.core.amounts import parse_needs, parse_provides
from queuectl.core.explaining import explain
from queuectl.core.situation import MOST_AHEAD, Candidate, Group, Parent, Situation
from queuectl.estimating import usual_of
from queuectl.notices import notifications
from queuectl.queue import JobFilter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.core.job import Job
    from queuectl.core.situation import Explanation
    from queuectl.fleet import Worker
    from queuectl.queue import Queue

__all__ = ["explain_job", "situation_of"]


def explain_job(queue: Queue, id: str) -> Explanation:
    return explain(situation_of(queue, queue.get(id)))


def situation_of(queue: Queue, job: Job) -> Situation:
    """What bears on the job. Only what its state lets matter is looked up."""
    store = queue.store
    situation = Situation(job, queue.settings.policy, queue.clock.now())
    situation.attempts = queue.attempts(job)
    if job.waits or job.unmet or job.state in (states.BLOCKED, states.CANCELLED):
        situation.parents = [
            Parent(link.id, link.state, link.kind, link.settled) for link in store.links().parents(job.seq)
        ]
    if job.state in states.TERMINAL:
        if job.unique_key is not None:
            situation.holder = store.surroundings().holder(job)
        situation.untold = [one for one in notifications(queue, job) if one.state != states.COMPLETED]
        return situation
    _add_workers(situation, living_workers(store), queue)
    if job.state == states.PROCESSING:
        situation.usual = usual_of(queue, job)
    else:
        _add_line(situation, queue)
    return situation


def _add_workers(situation: Situation, living: list[Worker], queue: Queue) -> None:
    job = situation.job
    situation.living = len(living)
    situation.owner_lives = job.worker_id in {worker.id for worker in living}
    if job.state == states.PROCESSING:
        return
    running: dict[str, int] = {}
    used: dict[str, dict[str, int]] = {}
    for id, needs in queue.store.surroundings().running():
        running[id] = running.get(id, 0) + 1
        for name, count in parse_needs(needs).items() if needs else ():
            taken = used.setdefault(id, {})
            taken[name] = taken.get(name, 0) + count
    situation.candidates = [
        Candidate(
            worker.id,
            slots=worker.concurrency,
            running=running.get(worker.id, 0),
            stopping=worker.control is not None,
            provides=_pieces(worker),
            used=used.get(worker.id),
        )
        for worker in living
        if worker.serves(job.queue)
    ]


def _pieces(worker: Worker) -> dict[str, int]:
    if not worker.provides:
        return {}
    return {name: len(ids) for name, ids in parse_provides(worker.provides).items()}


def _add_line(situation: Situation, queue: Queue) -> None:
    """The rules of its queue and its group, and its place in line."""
    job, store = situation.job, queue.store
    situation.rule = store.queues().get(job.queue)
    if situation.rule is not None and situation.rule.concurrency is not None:
        situation.running = store.count(JobFilter(states=(states.PROCESSING,), queue=job.queue))
    if job.state == states.PENDING:
        situation.ahead = store.surroundings().ahead(job, MOST_AHEAD)
    elif job.state == states.BLOCKED and job.job_group is not None:
        limit, running, ahead = store.surroundings().group(job, MOST_AHEAD)
        situation.group = Group(job.job_group, limit=limit, running=running, ahead=ahead)

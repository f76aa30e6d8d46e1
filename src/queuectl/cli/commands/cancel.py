"""queuectl cancel: stops jobs, also those that run, and waits until they have ended."""

from __future__ import annotations

from queuectl.cli.acting import Action, act, add_targets
from queuectl.cli.options import open_queue, parser
from queuectl.core.states import CANCELLABLE, CANCELLED, PROCESSING, TERMINAL
from queuectl.errors import QueuectlError, Refused
from queuectl.queue import JobFilter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuectl.cli.options import Parser
    from queuectl.core.job import Job
    from queuectl.queue import Queue

_ABOUT = """Stop jobs. Those that wait are cancelled at once. Those that run get TERM, and after
kill-grace (see queuectl config) KILL, with all the processes they have started."""

_EXAMPLES = """
  queuectl cancel job1
  queuectl cancel --queue mail --yes
  queuectl cancel --state pending --search report --dry-run
"""

# Beyond kill-grace: the time for a worker to hear of it and to store the end.
_SLACK_SECONDS = 3.0


def build_parser() -> Parser:
    result = parser("cancel", _ABOUT, _EXAMPLES)
    add_targets(result)
    result.add_argument("--no-wait", action="store_true", help="do not wait for running jobs")
    return result


def main(words: list[str]) -> int:
    options = build_parser().parse_args(words)
    with open_queue(options) as queue:
        action = Action(
            "cancel",
            "cancelled",
            sources=(*CANCELLABLE, PROCESSING),
            one=_cancel_one,
            many=lambda queue, filter: queue.cancel_matching(filter),
            settle=None if options.no_wait else _wait_for_end,
        )
        return act(queue, options, action)


def _cancel_one(queue: Queue, id: str) -> Job:
    queue.cancel(id)
    return queue.get(id)


def _wait_for_end(queue: Queue, jobs: Sequence[Job]) -> list[Job | QueuectlError]:
    going = {job.id for job in jobs if job.state == PROCESSING}
    deadline = queue.clock.monotonic() + queue.settings.kill_grace / 1000 + _SLACK_SECONDS
    while going:
        seen = queue.store.changed()
        going = {id for id in going if not _has_ended(queue, id)}
        if not going or not _anybody(queue):
            break
        if not queue.wait_for_change(deadline, seen=seen):
            break
    return [_verdict(queue, job) for job in jobs]


def _has_ended(queue: Queue, id: str) -> bool:
    job = queue.store.get(id)
    if job is not None and job.state in CANCELLABLE:
        # Its attempt ended by itself before the worker heard of us, and it would be tried again.
        queue.cancel_matching(JobFilter(ids=(id,)))
        job = queue.store.get(id)
    return job is None or job.state in TERMINAL


def _verdict(queue: Queue, before: Job) -> Job | QueuectlError:
    job = queue.store.get(before.id) or before
    if job.state == CANCELLED:
        return job
    if job.state in TERMINAL:
        return Refused(f"job {job.id} was {job.state} before it could be stopped")
    if job.worker_id in _living(queue):
        return QueuectlError(
            f"job {job.id} is still running",
            f"its worker has been asked to stop it; see: queuectl show {job.id}",
        )
    return QueuectlError(
        f"job {job.id} is marked as running, but its worker seems gone",
        "the next worker ends it: queuectl worker start",
    )


def _living(queue: Queue) -> set[str | None]:
    from queuectl.app import living_workers

    return {worker.id for worker in living_workers(queue.store)}


def _anybody(queue: Queue) -> bool:
    return bool(_living(queue))

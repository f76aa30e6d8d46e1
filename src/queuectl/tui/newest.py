"""A page of jobs, those first with which something happened last, without sorting all there are.

No index has all jobs by their last change. But each state has an order of its own that is near to it (those
that ended: by their end, others: by their number), so the states are asked one by one and merged.
"""

from __future__ import annotations

from heapq import merge

from queuectl.core.states import ALL, TERMINAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from queuectl.core.job import Job
    from queuectl.queue import JobFilter, Queue

__all__ = ["PAGE", "newest_jobs"]

PAGE = 100  # rows; of each state at most so many are read


def newest_jobs(
    queue: Queue, filter: JobFilter, start: Mapping[str, int]
) -> tuple[list[Job], dict[str, int] | None]:
    """The page, and where the next one starts; None: this is the last one."""
    counts = queue.store.queues().depths() if not filter.states else {}
    present = {state for of_queue in counts.values() for state, count in of_queue.items() if count}
    wanted = filter.states or tuple(state for state in ALL if state in present)
    sources = [
        [(state, job) for job in _of_state(queue, filter, state, start.get(state, 0))] for state in wanted
    ]
    page: dict[int, Job] = {}  # a job that changes its state between two reads comes twice
    taken = dict(start)
    for state, job in merge(*sources, key=lambda pair: -pair[1].updated_at):
        if len(page) == PAGE:
            return list(page.values()), taken
        page.setdefault(job.seq, job)
        taken[state] = taken.get(state, 0) + 1
    # All of every source is on the page; a full one may have more behind it.
    more = any(len(jobs) >= PAGE for jobs in sources)
    return list(page.values()), taken if more else None


def _of_state(queue: Queue, filter: JobFilter, state: str, skip: int) -> Sequence[Job]:
    one = filter.replaced(states=(state,))
    sort = "finished" if state in TERMINAL else "created"
    if skip >= PAGE:
        return queue.list(filter=one, limit=PAGE, offset=skip, sort=sort, descending=True)
    jobs = queue.list(filter=one, limit=PAGE, sort=sort, descending=True)
    if len(jobs) < PAGE:  # all there are: these can be put into the true order
        return sorted(jobs, key=lambda job: -job.updated_at)[skip:]
    return queue.list(filter=one, limit=PAGE, offset=skip, sort=sort, descending=True) if skip else jobs

"""What is on the screen at one moment, as plain text that cannot steer a terminal."""

from __future__ import annotations

from queuectl.core.durations import format_age, plain_number
from queuectl.core.estimates import roughly
from queuectl.core.states import PROCESSING
from queuectl.overview import Overview
from queuectl.queues import overview as queue_views
from queuectl.tui.newest import newest_jobs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from queuectl.core.job import Job
    from queuectl.queue import Queue
    from queuectl.queues import QueueView
    from queuectl.tui.wanted import Wanted

    Clean = Callable[[str], str]

__all__ = ["JobRow", "Picture", "QueueRow", "short_number", "take_picture"]

_LONGEST_CELL = 400  # characters: no screen is wider, and a command may have a megabyte


class JobRow:
    """A job in the table. `key` is its id as it is stored, for acting on it; all else is to be shown."""

    __slots__ = ("cells", "held", "key", "queue_key", "state")

    def __init__(self, job: Job, now: int, clean: Clean) -> None:
        self.key = job.id
        self.queue_key = job.queue
        self.state = job.state
        self.held = bool(job.held)
        command = clean(job.command[:_LONGEST_CELL])
        if job.state == PROCESSING and job.progress is not None:
            told = clean((job.progress_text or "")[:40])
            command = f"{job.progress}% {told}".rstrip() + f" · {command}"
        self.cells = (
            "cancelling" if job.state == PROCESSING and job.cancel_requested else job.state,
            clean(job.id[:_LONGEST_CELL]),
            clean(job.queue[:_LONGEST_CELL]),
            f"{job.attempts}/{job.max_retries + 1}",
            format_age(now - job.created_at),
            command,
        )


class QueueRow:
    """A queue in the list of queues."""

    __slots__ = ("cells", "key", "paused")

    def __init__(self, view: QueueView, clean: Clean) -> None:
        self.key = view.name
        self.paused = view.paused
        waiting = view.waiting_ms
        mark = "paused" if view.paused else "draining" if view.draining else ""
        self.cells = (
            clean(view.name),
            short_number(view.unfinished - view.running),
            short_number(view.running),
            "-" if waiting is None else format_age(waiting),
            mark,
        )


class Picture:
    """All but the details of the chosen job."""

    __slots__ = (
        "counts",
        "following",
        "jobs",
        "queues",
        "rate",
        "shown_filter",
        "store",
        "wanted",
        "workers",
    )

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.store = ""
        self.workers = ""
        self.rate = ""
        self.shown_filter = ""
        self.counts: dict[str, int] = {}
        self.queues: list[QueueRow] = []
        self.jobs: list[JobRow] = []
        self.following: tuple[tuple[str, int], ...] | None = None  # where the next page starts


def take_picture(queue: Queue, wanted: Wanted, clean: Clean) -> Picture:
    now = queue.clock.now()
    numbers = Overview(queue, None)
    picture = Picture(wanted)
    picture.store = clean(queue.store.location.shown)
    picture.counts = numbers.counts
    picture.workers = f"{_count(numbers.workers, 'worker')}, {_count(numbers.slots, 'slot')}"
    picture.rate = _rate(numbers)
    picture.shown_filter = clean(wanted.filter)
    picture.queues = [QueueRow(view, clean) for view in queue_views(queue)]
    jobs, following = newest_jobs(queue, wanted.job_filter(now), dict(wanted.start))
    picture.jobs = [JobRow(job, now, clean) for job in jobs]
    picture.following = None if following is None else tuple(following.items())
    return picture


def _rate(numbers: Overview) -> str:
    rate = plain_number(round(numbers.per_minute, 1 if numbers.per_minute < 100 else None))
    estimate = numbers.estimate
    return f"{rate:,}/min" if estimate.ms is None else f"{rate:,}/min, done in ~{roughly(estimate.ms)}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def short_number(number: int) -> str:
    """`950`, `12.3k`, `1.0M`: for columns that must stay narrow."""
    if number < 10_000:
        return str(number)
    for size, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= size:
            return f"{number / size:.1f}{letter}" if number < 100 * size else f"{number // size}{letter}"
    return str(number)

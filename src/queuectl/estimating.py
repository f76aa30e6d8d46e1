"""How long jobs usually take, and when all that waits will be done: gathers what `core.estimates` needs.

What is read is bounded, however much waits.
"""

from __future__ import annotations

from queuectl.app import living_workers
from queuectl.core import states
from queuectl.core.durations import format_duration, seconds
from queuectl.core.estimates import Line, estimate, remaining_ms
from queuectl.core.measures import RUN, classes, percentile
from queuectl.core.queue_rules import is_paused, rate_of
from queuectl.core.runtimes import UNKNOWN, digest_of, limit_in_words, percent_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.core.estimates import Estimate
    from queuectl.core.job import Job
    from queuectl.core.runtimes import Known
    from queuectl.queue import Queue
    from queuectl.store.messages import Worker

__all__ = ["eta", "expectations", "usual_of", "usual_seconds"]

MOST_SAMPLED = 300  # jobs that wait, of all queues together
_MOST_QUEUES = 20  # those with the most jobs are looked at; the others are taken to be like them
_MOST_RUNNING = 300
_DAY_MINUTES, _HOUR_SPAN, _MINUTE_MS = 1_440, 60, 60_000


def usual_of(queue: Queue, job: Job) -> Known:
    """What is known of a job's command."""
    digest = digest_of(job.command, job.argv, job.cwd)
    return queue.store.runtimes().of([digest]).get(digest, UNKNOWN)


def expectations(queue: Queue, job: Job) -> list[tuple[str, str]]:
    """How long it will take and may take, as lines with a title; nothing of a job that has ended."""
    percent = percent_of(job)
    known = UNKNOWN if job.state in states.TERMINAL else usual_of(queue, job)
    told = []
    if percent is not None:
        ended = job.state in states.TERMINAL
        words = f"{percent}% of its usual run time" if ended else limit_in_words(known, percent)
        told.append(("Timeout by history", words))
    if known.median_ms is not None:
        last = f"the median of its last {known.runs} successes, roughly"
        told.append(("Usually takes", f"{format_duration(known.median_ms)} ({last})"))
    return told


def usual_seconds(queue: Queue, job: Job) -> float | int | None:
    """How long a job that has not ended is expected to run."""
    return None if job.state in states.TERMINAL else seconds(usual_of(queue, job).median_ms)


def eta(queue: Queue, name: str | None = None) -> Estimate:
    """Of the store, or of one queue."""
    counts = queue.store.backlog().counts(name)
    workers = [worker for worker in living_workers(queue.store) if worker.control is None]
    gathered = _Gathered(queue, name)
    lines = []
    largest = sorted(counts, key=lambda one: -_waiting(counts[one]))
    for queue_name in largest:
        line = Line(queue_name, _waiting(counts[queue_name]), slots=_slots(workers, queue_name))
        if line.waiting or counts[queue_name].get(states.PROCESSING):
            lines.append(line)
    for line in lines[:_MOST_QUEUES]:
        gathered.sample(line, counts[line.name], MOST_SAMPLED // min(len(lines), _MOST_QUEUES))
    gathered.add_to(lines)
    serving = [worker for worker in workers if any(worker.serves(line.name) for line in lines)]
    return estimate(lines, sum(worker.concurrency for worker in serving))


def _waiting(counts: dict[str, int]) -> int:
    return max(counts.get(states.PENDING, 0), 0) + max(counts.get(states.FAILED, 0), 0)


def _slots(workers: list[Worker], name: str) -> int:
    return sum(worker.concurrency for worker in workers if worker.serves(name))


class _Gathered:
    """What bears on the lines: samples of commands, and what is known of them, asked for at once."""

    def __init__(self, queue: Queue, name: str | None) -> None:
        self._queue = queue
        self._now = queue.clock.now()
        backlog = queue.store.backlog()
        self._failed = [one for one in backlog.failed(MOST_SAMPLED) if name in (None, one[0])]
        self._running = [one for one in backlog.running(_MOST_RUNNING) if name in (None, one[0])]
        self._sampled: dict[str, list[str]] = {}

    def sample(self, line: Line, counts: dict[str, int], most: int) -> None:
        pending = counts.get(states.PENDING, 0)
        commands = self._queue.store.backlog().pending(line.name, most) if pending > 0 else []
        commands += [command for name, command, _ in self._failed if name == line.name][:most]
        self._sampled[line.name] = [digest_of(*command) for command in commands]

    def add_to(self, lines: list[Line]) -> None:
        wanted = [digest for digests in self._sampled.values() for digest in digests]
        wanted += [digest_of(*command) for _, command, _, _ in self._running]
        known = self._queue.store.runtimes().of(wanted)
        rules = {rule.name: rule for rule in self._queue.store.queues().all()}
        for line in lines:
            self._add_work(line, known)
            rule = rules.get(line.name)
            if rule is not None:
                line.concurrency, line.is_paused = rule.concurrency, is_paused(rule, self._now)
                rate = rate_of(rule)
                line.rate = None if rate is None else rate.count / rate.per_ms

    def _add_work(self, line: Line, known: dict[str, Known]) -> None:
        medians = [known.get(digest, UNKNOWN).median_ms for digest in self._sampled.get(line.name, ())]
        line.known = [ms for ms in medians if ms is not None]
        line.unknown = len(medians) - len(line.known)
        line.running = [
            remaining_ms(
                max(self._now - started, 0), known.get(digest_of(*command), UNKNOWN).median_ms, progress
            )
            for name, command, started, progress in self._running
            if name == line.name
        ]
        if line.name in self._sampled and (line.unknown or None in line.running or not medians):
            line.usual = self._usual_of_queue(line.name)
        due = [at for name, _, at in self._failed if name == line.name]
        line.last_due = max(max(due, default=0) - self._now, 0)

    def _usual_of_queue(self, name: str) -> int | None:
        """The median of all that ran in it within a day."""
        since = self._now // _MINUTE_MS - _DAY_MINUTES
        amounts: dict[str, int] = {}
        for _, kind, amount in self._queue.store.history().series(_HOUR_SPAN, since, name):
            amounts[kind] = amounts.get(kind, 0) + amount
        seconds = percentile(classes(RUN, amounts), 0.5)
        return None if seconds is None else round(seconds * 1000)

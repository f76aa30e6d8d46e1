"""What is asked of a store and what it answers: small values, no SQL, no driver."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from queuectl.core.job import Job
    from queuectl.core.lifecycle import Report

    Cause = tuple[int | None, int | None, str | None]  # of an end: exit code, signal, error


class Ask:
    """A worker's wish for work. `queues` None means all; `only` restricts it to one job.

    The queues are served strictly in their order, or by `weights` (one for each of them, see core.dealing).
    """

    __slots__ = ("again", "claim", "free", "free_slots", "limit", "only", "queues", "weights", "worker_id")

    def __init__(
        self,
        worker_id: str,
        claim: str,
        limit: int,
        *,
        queues: tuple[str, ...] | None = None,
        weights: tuple[int, ...] | None = None,
        only: int | None = None,
        free_slots: int | None = None,
        free: dict[str, int] | None = None,
    ) -> None:
        self.worker_id = worker_id
        self.claim = claim
        self.limit = limit
        self.queues = queues
        self.weights = weights
        self.only = only
        # Of the limit, how many could start at once: what others may have to wait for is not claimed ahead.
        self.free_slots = limit if free_slots is None else free_slots
        self.free = {} if free is None else free  # pieces of each resource that no job has
        self.again = False  # asked before with the same claim, and nobody knows what became of it


class Exchange:
    """The answer to results handed in and work asked for, all in one transaction."""

    __slots__ = ("jobs", "next_due", "ring", "stale")

    def __init__(self, jobs: list[Job], stale: list[Report], next_due: int | None) -> None:
        self.jobs = jobs
        self.stale = stale  # reports that came too late: the claim was somebody else's by then
        self.next_due = next_due  # when the next scheduled or failed job is due, or a limit ends
        self.ring = False  # there may be something for other workers now

    def wake_at(self, time: int | None) -> None:
        """Ask again then, if not earlier."""
        if time is not None and (self.next_due is None or time < self.next_due):
            self.next_due = time


class Worker:
    """A registered worker process."""

    __slots__ = (
        "concurrency",
        "control",
        "host",
        "id",
        "identity",
        "lease_until",
        "memory_kb",
        "pid",
        "provides",
        "queues",
        "read_at",
        "running",
        "seen_at",
        "session",
        "started_at",
        "state",
        "supervisor",
        "version",
    )

    id: str
    host: str
    pid: int
    identity: str
    session: int
    state: str
    lease_until: int
    started_at: int
    seen_at: int
    concurrency: int
    running: int  # as it said last; `app.count_running` puts what is true now in its place
    queues: str | None
    supervisor: int | None
    control: str | None
    provides: str | None
    memory_kb: int | None
    version: str | None  # of its program; None: one that did not tell
    read_at: int  # by the lease clock, when this was read

    def serves(self, queue: str) -> bool:
        """Whether it takes jobs of this queue."""
        if self.queues is None:
            return True
        from queuectl.core.dealing import queue_names

        return queue in queue_names(self.queues)


WORKER_COLUMNS = tuple(name for name in Worker.__annotations__ if name != "read_at")


class Orders:
    """What a worker is told when it asks: a stop request, and which of its jobs to cancel.

    `control` is "drain", "drain MILLISECONDS" (its own grace time) or "now".
    """

    __slots__ = ("cancel", "control")

    def __init__(self, control: str | None, cancel: list[int]) -> None:
        self.control = control
        self.cancel = cancel


class JobFilter:
    """Which jobs are meant. Empty fields do not restrict."""

    __slots__ = (
        "cause",
        "created_after",
        "created_before",
        "held",
        "ids",
        "queue",
        "states",
        "tag",
        "text",
        "without",
    )

    def __init__(
        self,
        *,
        ids: tuple[str, ...] = (),
        states: tuple[str, ...] = (),
        queue: str | None = None,
        tag: str | None = None,
        text: str | None = None,
        created_after: int | None = None,
        created_before: int | None = None,
        held: bool | None = None,
        cause: Cause | None = None,
        without: str | None = None,
    ) -> None:
        self.ids = ids
        self.states = states
        self.queue = queue
        self.tag = tag
        self.text = text
        self.created_after = created_after
        self.created_before = created_before
        self.held = held  # True: only held jobs, False: only others
        self.cause = cause  # only those that ended like this
        self.without = without  # not those of this queue

    def replaced(self, **changes: Any) -> JobFilter:
        """The same restrictions but for these."""
        return JobFilter(**{name: getattr(self, name) for name in self.__slots__} | changes)


class Stats:
    """The overview."""

    __slots__ = ("counts", "finished_recently", "oldest_pending", "window_ms")

    def __init__(
        self,
        counts: dict[str, int],
        oldest_pending: int | None,
        finished_recently: dict[str, int],
        window_ms: int,
    ) -> None:
        self.counts = counts
        self.oldest_pending = oldest_pending
        self.finished_recently = finished_recently
        self.window_ms = window_ms


class Piece:
    """What is kept of one attempt's output."""

    __slots__ = ("host", "log", "run", "seq", "size")

    def __init__(self, seq: int, run: int, size: int, log: str | None, host: str | None) -> None:
        self.seq = seq
        self.run = run
        self.size = size  # bytes in the store and in the log file
        self.log = log
        self.host = host

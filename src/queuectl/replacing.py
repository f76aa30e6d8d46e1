"""Workers replaced by new ones, one after the other, so that the queue never stands still.

Starting and stopping is left to `fleet`. Those in the foreground belong to whoever started them.
"""

from __future__ import annotations

import os
import time
from itertools import pairwise

from queuectl.app import living_workers
from queuectl.assembly import WorkerSpec
from queuectl.core.admission import Limits, parse_limits
from queuectl.core.dealing import parse_queues
from queuectl.core.pieces import read
from queuectl.errors import NotFound
from queuectl.fleet import (
    await_workers,
    launch,
    on_this_machine,
    stop_workers,
    supervisor_commands,
    wanted_workers,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import IO

    from queuectl.core.pieces import Pieces
    from queuectl.queue import Queue
    from queuectl.store.messages import Worker

    Member = tuple[Worker, Pieces]
    Stop = Callable[[Worker], None]

_LOOK_EVERY = 0.02  # a supervisor that has nobody to start again says so within milliseconds


def in_the_foreground(queue: Queue, workers: Sequence[Worker]) -> list[Worker]:
    """Those that end with a terminal, a service or a container: only that can start them again."""
    commands = supervisor_commands(queue)
    return [
        worker
        for worker in workers
        if worker.supervisor is None or "--foreground" in commands.get(worker.supervisor, ())
    ]


class Replacement:
    """New workers for old ones, kind by kind. What was replaced stands in `pairs`."""

    def __init__(
        self,
        queue: Queue,
        *,
        now: bool = False,
        timeout_ms: int | None = None,
        progress: Callable[[list[Worker]], None] | None = None,
        successor_within: float = 10.0,
    ) -> None:
        """`successor_within`: seconds in which a supervisor starts another for one that is gone."""
        self._queue = queue
        self._successor_within = successor_within
        self._now = now
        self._timeout_ms = timeout_ms
        self._progress = progress
        self.pairs: list[tuple[Worker, Worker]] = []
        self.killed: list[Worker] = []
        self._known = {worker.id for worker in queue.store.workers()}  # all others came after us
        self._left = wanted_workers(queue)  # of each supervisor, when those before are replaced

    def run(self, workers: Sequence[Worker], tell: Callable[[Worker, Worker], None]) -> None:
        for spec, members in alike(self._queue, workers):
            # A supervisor of its own for each kind; its workers begin when we say so.
            process, log = launch(self._queue, [share for _, share in members], spec, fed=True)
            assert process.stdin is not None
            with process.stdin as feed:
                for number, (old, share) in enumerate(members, 1):
                    if share:  # a piece of the machine belongs to one worker at a time
                        self.stop(old)
                    _let_begin(feed)
                    # What has been replaced already must not go with one that does not come up. And if nobody
                    # has its piece of the machine any more, it goes on trying.
                    give_up = number == 1 and not share
                    there = await_workers(self._queue, process, number, log, give_up=give_up)
                    new = max(there, key=lambda worker: worker.started_at)
                    if not share:
                        self.stop(old)
                    self.pairs.append((old, new))
                    tell(old, new)

    def stop(self, worker: Worker) -> None:
        """Have it end, and whoever its supervisor starts in its place."""
        self._ask(worker)
        if worker.supervisor is not None:
            self._left[worker.supervisor] = self._left.get(worker.supervisor, 0) - 1
            self._stop_heirs(worker.supervisor)

    def _ask(self, worker: Worker) -> None:
        try:
            stopped = stop_workers(
                self._queue,
                ids=[worker.id],
                now=self._now,
                timeout_ms=self._timeout_ms,
                progress=self._progress,
            )
        except NotFound:
            return  # it has ended by itself
        self.killed += stopped.killed

    def _stop_heirs(self, supervisor: int) -> None:
        """One that was killed or has crashed is started again by its supervisor, unaware of us."""
        deadline = time.monotonic() + self._successor_within
        while wanted_workers(self._queue).get(supervisor, 0) > max(self._left[supervisor], 0):
            # Not all of a server's: on another machine the same number is another supervisor.
            for worker in on_this_machine(self._queue.store, living_workers(self._queue.store)):
                if worker.supervisor == supervisor and worker.id not in self._known:
                    self._known.add(worker.id)
                    self._ask(worker)
                    deadline = time.monotonic() + self._successor_within
                    break
            else:
                if time.monotonic() >= deadline:
                    return
                self._queue.wait_for_change(min(deadline, time.monotonic() + _LOOK_EVERY))


def _let_begin(feed: IO[bytes]) -> None:
    """One more worker. Not by way of a buffer, which would be written out again when it is closed."""
    try:
        os.write(feed.fileno(), b"+")
    except BrokenPipeError:
        pass  # their supervisor has died; whoever waits for the worker sees that, and says so


def alike(queue: Queue, workers: Sequence[Worker]) -> list[tuple[WorkerSpec, list[Member]]]:
    """How to start such workers again: what those that were started alike have in common, and each one's own.

    The limits of their machine are known to their supervisors alone; without one there are none.
    """
    limits = {pid: _limits(command) for pid, command in supervisor_commands(queue).items()}
    kinds: dict[tuple[object, ...], tuple[WorkerSpec, list[Member]]] = {}
    for worker in workers:
        load, memory = limits.get(worker.supervisor or 0, (None, None))
        names, weights = parse_queues(worker.queues) if worker.queues else (None, None)
        spec = WorkerSpec(
            concurrency=worker.concurrency,
            queues=names,
            weights=weights,
            limits=Limits(load, memory),
        )
        kind = (worker.concurrency, worker.queues, load, memory)
        kinds.setdefault(kind, (spec, []))[1].append((worker, read(worker.provides)))
    return list(kinds.values())


def _limits(command: Sequence[str]) -> tuple[float | None, int | None]:
    """Those in the command of a supervisor's workers."""
    found = dict(pairwise(command))
    limits = parse_limits(found.get("--max-load"), found.get("--min-free-memory"))
    return limits.max_load, limits.min_free_memory

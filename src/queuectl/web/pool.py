"""Queues for the threads that answer requests: each is used by one at a time and kept for the next."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager

from queuectl.app import open_queue
from queuectl.config.sources import load
from queuectl.errors import StoreBusy, StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from queuectl.queue import Queue

MOST = 8  # connections to the store
_PATIENCE_S = 10.0  # for one of them
_STORE_PATIENCE_MS = 5_000  # of a connection, with others who hold the store


class Pool:
    """Opens as many as are needed at once, and no more than `most`."""

    def __init__(self, url: str, *, most: int = MOST) -> None:
        self.url = url
        self._free: list[Queue] = []
        self._lock = threading.Lock()
        self._permits = threading.BoundedSemaphore(most)
        self.errors = 0  # of the store, ever
        self.calls = 0
        self.seconds = 0.0  # spent by those who had a queue

    @contextmanager
    def queue(self, caller: Mapping[str, str] | None = None, *, settings: bool = False) -> Iterator[Queue]:
        """One that nobody else has; with `settings`, those that are in force now. After an error of the store
        all that are free are closed: the next opens another.

        `caller`: the trace that new jobs belong to. Never the one in which this server was started.
        """
        if not self._permits.acquire(timeout=_PATIENCE_S):
            raise StoreBusy("too many requests at once", "try again")
        began = time.monotonic()
        try:
            queue = self._take()
            queue.caller = caller or {}
            try:
                if settings:  # others may have changed them since it was opened
                    queue.settings = load(queue.store.stored_config())
                yield queue
            except StoreError as error:
                self.errors += 1
                queue.close()
                if not isinstance(error, StoreBusy):
                    self.close()  # what is wrong with one is wrong with the others
                raise
            except BaseException:
                self._give_back(queue)
                raise
            else:
                self._give_back(queue)
        finally:
            with self._lock:
                self.calls += 1
                self.seconds += time.monotonic() - began
            self._permits.release()

    def _take(self) -> Queue:
        with self._lock:
            free = self._free.pop() if self._free else None
        if free is not None:
            try:
                free.store.check_identity()  # a file may have been replaced, and be read as it was forever
                return free
            except StoreError:
                free.close()
        queue = open_queue(self.url, create=False)
        queue.store.be_patient(_STORE_PATIENCE_MS)
        return queue

    def _give_back(self, queue: Queue) -> None:
        with self._lock:
            self._free.append(queue)

    def close(self) -> None:
        with self._lock:
            free, self._free = self._free, []
        for queue in free:
            queue.close()

"""Tells every open page what changes in the store, wherever it is changed: one thread looks for all of them.

A page that reads slowly gets fewer events, each with the latest; nothing piles up here.
"""

from __future__ import annotations

import secrets
import threading
import time

from queuectl.app import open_queue
from queuectl.errors import QueuectlError
from queuectl.web.routes_stats import stats_document
from queuectl.web.watch import JobWatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from queuectl.queue import Queue
    from queuectl.web.pool import Pool

_LOOK_EVERY = 0.25
_STATS_EVERY = 0.5  # at most, while much happens
_CHANGED_EVERY = 1.0
_AGES_EVERY = 5.0  # at least: how long the oldest waits changes by itself
_MOST_WAITING = 512 * 1024  # bytes of output that a page has not taken yet


class Page:
    """One open page: what it looks at, and what it has not been sent yet."""

    def __init__(self, wake: Callable[[], None], *, queue: str | None, job: JobWatch | None) -> None:
        self.queue = queue
        self.job = job
        self._wake = wake
        self._lock = threading.Lock()
        self._latest: dict[str, object] = {}  # by event: the newest is enough
        self._output: list[dict[str, object]] = []
        self._waiting = 0
        self.closed = False

    def put(self, event: str, data: object) -> None:
        with self._lock:
            self._latest[event] = data
        self._wake()

    def put_output(self, data: dict[str, object], size: int) -> None:
        with self._lock:
            self._output.append(data)
            self._waiting += size
        self._wake()

    @property
    def full(self) -> bool:
        return self._waiting > _MOST_WAITING

    def take(self) -> list[tuple[str, object]]:
        with self._lock:
            events = [*self._latest.items(), *(("output", one) for one in self._output)]
            self._latest, self._output, self._waiting = {}, [], 0
        return events

    def close(self) -> None:
        self.closed = True
        self._wake()


class Live:
    """The thread runs while there are pages."""

    def __init__(self, pool: Pool) -> None:
        self._url = pool.url
        self._lock = threading.Lock()
        self._pages: list[Page] = []
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()
        self.epoch = secrets.token_hex(4)
        self.version = 0  # of what the pages were told: counts changes of the store

    def join(self, page: Page) -> None:
        with self._lock:
            if self._ended.is_set():
                page.close()
                return
            self._pages.append(page)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="live", daemon=True)
                self._thread.start()

    def leave(self, page: Page) -> None:
        with self._lock:
            if page in self._pages:
                self._pages.remove(page)

    @property
    def pages(self) -> int:
        return len(self._pages)

    def close(self) -> None:
        """End all streams, now."""
        self._ended.set()
        with self._lock:
            pages, self._pages = self._pages, []
            thread = self._thread
        for page in pages:
            page.close()
        if thread is not None and thread is not threading.current_thread():
            thread.join(5)

    def _run(self) -> None:
        pause = _LOOK_EVERY
        while self._serve(pause):
            # The store was away, or another one: from the beginning, not too often.
            pause = 1.0
            if self._ended.wait(pause):
                return

    def _serve(self, pause: float) -> bool:
        """False: nobody is left."""
        try:
            with open_queue(self._url, create=False) as queue:
                look = _Look(self, queue)
                while not self._ended.wait(pause):
                    with self._lock:
                        if not self._pages:
                            self._thread = None
                            return False
                        pages = list(self._pages)
                    look.once(pages)
                    pause = _LOOK_EVERY
        except QueuectlError as error:
            for page in list(self._pages):
                page.put("trouble", {"code": error.code, "detail": error.message})
            return not self._ended.is_set()
        return False


class _Look:
    """What was seen at the last look."""

    def __init__(self, live: Live, queue: Queue) -> None:
        self._live = live
        self._queue = queue
        self._seen: int | None = None
        self._told = 0.0
        self._counted = 0.0
        self._stats: dict[str | None, dict[str, object]] = {}
        self._due = True
        self._known: set[int] = set()

    def once(self, pages: list[Page]) -> None:
        now = time.monotonic()
        seen = self._queue.store.changed()
        changed = seen != self._seen
        self._seen = seen
        if changed:
            self._live.version += 1
            self._due = True
        self._send_stats(pages, now)
        if self._due and now - self._told >= _CHANGED_EVERY:
            self._due, self._told = False, now
            for page in pages:
                page.put("changed", {"jobs": True, "queues": True, "workers": True, "schedules": True})
        for page in pages:
            if page.job is not None and not page.full:
                page.job.look(self._queue, page)
        self._known = {id(page) for page in pages}

    def _send_stats(self, pages: list[Page], now: float) -> None:
        new = [page for page in pages if id(page) not in self._known]
        names = {page.queue for page in pages}
        aged = now - self._counted >= (_STATS_EVERY if self._due else _AGES_EVERY)
        for name in names:
            if not aged and name in self._stats:
                document = self._stats[name]
            else:
                document = stats_document(self._queue, name)
                self._counted = now
            before, self._stats[name] = self._stats.get(name), document
            for page in pages:
                if page.queue == name and (page in new or document != before):
                    page.put("stats", document)
        self._stats = {name: self._stats[name] for name in names}

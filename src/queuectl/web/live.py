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
_MAYBE_EVERY = 5.0  # on a server that does not tell
_FORESEEN = ("eta_seconds", "eta")
_BY_ITSELF = ("oldest_waiting_seconds", "throughput_per_minute", "drain_seconds", *_FORESEEN)  # with the time
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
        self.told = 0  # the version of the store that it has heard of
        self._version = 0  # and the one that it will hear of next
        self.told_at = 0.0
        self.stats: dict[str, object] | None = None  # those that it was sent
        self.troubled = False

    def put(self, event: str, data: object) -> None:
        with self._lock:
            self._latest[event] = data
        self._wake()

    def put_changed(self, version: int) -> None:
        with self._lock:
            self._latest["changed"] = {"jobs": True, "queues": True, "workers": True, "schedules": True}
            self._version = version
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
            self.told = max(self.told, self._version)
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
            thread.join(1)  # a daemon: what the store keeps waiting is left behind

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
                look = Look(self, queue)
                while not self._ended.wait(pause):
                    with self._lock:
                        if not self._pages:
                            self._thread = None
                            return False
                        pages = list(self._pages)
                    look.once(pages, time.monotonic())
                    pause = _LOOK_EVERY
        except QueuectlError as error:
            self._tell_trouble(error.code, error.message)
        except Exception as error:  # nobody would look for the pages any more
            self._tell_trouble("failed", f"internal error: {type(error).__name__}: {error}"[:500])
        else:
            return False
        with self._lock:
            if not self._pages:
                self._thread = None
        return self._thread is not None and not self._ended.is_set()

    def _tell_trouble(self, code: str, detail: str) -> None:
        """Once; when it is over they are sent everything anew."""
        for page in list(self._pages):
            if not page.troubled:
                page.troubled, page.stats, page.told = True, None, 0
                page.put("trouble", {"code": code, "detail": detail})


class Look:
    """What was seen at the last look."""

    def __init__(self, live: Live, queue: Queue) -> None:
        self._live = live
        self._queue = queue
        self._seen: int | None = None
        self._counted = 0.0
        self._stats: dict[str | None, dict[str, object]] = {}
        self._foreseen: dict[str | None, tuple[float, dict[str, object]]] = {}
        self._stale = True  # something was written since they were counted
        self._knows = not queue.store.location.shared
        self._written = False  # and the pages have not been told yet
        self._noticed: float | None = None  # when they were told last

    def once(self, pages: list[Page], now: float) -> None:
        """Look at the store, and tell the pages what is new. `now` is the monotonic clock."""
        self._queue.store.check_identity()
        seen = self._queue.store.changed()
        if seen != self._seen:
            self._seen = seen
            # Kept until the pages are told: the numbers that show what was written may be counted only at a
            # later look, when nothing more has been written.
            self._written = self._stale = True
        before = self._stats
        self._send_stats(pages, now)
        if self._written and (self._knows or self._noticed is None or self._is_due(before, now)):
            self._noticed = now
            self._written = False
            self._live.version += 1
        version = self._live.version
        for page in pages:
            page.troubled = False
            if page.told < version and now - page.told_at >= _CHANGED_EVERY:
                page.told_at = now
                page.put_changed(version)
            if page.job is not None and not page.full:
                page.job.look(self._queue, page)

    def _is_due(self, before: dict[str | None, dict[str, object]], now: float) -> bool:
        """Of a server nobody knows whether it was written to: if the numbers are others, and now and then."""
        assert self._noticed is not None
        counts = [{name: _lasting(one) for name, one in stats.items()} for stats in (before, self._stats)]
        return counts[0] != counts[1] or now - self._noticed >= _MAYBE_EVERY

    def _send_stats(self, pages: list[Page], now: float) -> None:
        names = {page.queue for page in pages}
        if now - self._counted >= (_STATS_EVERY if self._stale else _AGES_EVERY):
            self._stats = {}
            self._counted, self._stale = now, False
        counted = {name: self._stats.get(name) or self._document(name, now) for name in names}
        self._stats = counted
        for page in pages:
            if page.stats != counted[page.queue]:
                page.stats = counted[page.queue]
                page.put("stats", page.stats)

    def _document(self, name: str | None, now: float) -> dict[str, object]:
        """The counts are new; when all will be done is worked out less often, as it reads more."""
        at, foreseen = self._foreseen.get(name, (now, None))
        if now - at >= _AGES_EVERY:
            foreseen = None
        document = stats_document(self._queue, name, foreseen)
        if foreseen is None:
            self._foreseen[name] = now, {field: document[field] for field in _FORESEEN}
        return document


def _lasting(stats: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in stats.items() if name not in _BY_ITSELF}

"""The thread that reads the store, with a Queue of its own, and acts on it; the screen never waits for it."""

from __future__ import annotations

import threading
import time

from queuectl.app import open_queue
from queuectl.errors import QueuectlError
from queuectl.tui.details import Looker
from queuectl.tui.pictures import take_picture
from queuectl.tui.wanted import Wanted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from queuectl.queue import Queue
    from queuectl.tui.details import Details
    from queuectl.tui.pictures import Picture
    from queuectl.tui.tail import Line

    Act = Callable[[Queue], str]

__all__ = ["Listener", "Reader"]

_LOOK_SECONDS = 0.2  # how often the store is asked whether anything has changed
_SOONEST_SECONDS = 0.5  # between two pictures, if the person asks for nothing
_LATEST_SECONDS = 2.0  # ages go on without any change
_SHARE = 10  # reading takes at most a tenth of the time: the store is there for the workers
_LONGEST_PAUSE = 15.0
_END_SECONDS = 2.0


class Listener:
    """Who is told; every call comes from the reader's thread."""

    def picture(self, picture: Picture) -> None: ...

    def details(self, details: Details | None) -> None: ...

    def log(self, key: str, lines: list[Line]) -> None: ...

    def done(self, text: str, *, failed: bool) -> None: ...

    def trouble(self, text: str | None) -> None: ...


class Reader(threading.Thread):
    """Tells what is wanted, whenever it may have changed. `clean` makes text harmless for a terminal."""

    def __init__(self, url: str, listener: Listener, clean: Callable[[str], str]) -> None:
        super().__init__(name="queuectl-top-reader", daemon=True)
        self._url = url
        self._listener = listener
        self._clean = clean
        self._news = threading.Condition()
        # Under the condition: what the screen's thread asks for.
        self._wanted = Wanted()
        self._chosen: str | None = None
        self._acts: list[Act] = []
        self._stopped = False
        # Of this thread alone.
        self._queue: Queue | None = None
        self._looker = Looker(clean)
        self._shown: Wanted | None = None
        self._looked: str | None = None
        self._live = False
        self._seen = -1
        self._troubled = False
        self._next_picture = self._last_picture = 0.0

    # --- from the screen ------------------------------------------------------------------------------------

    def want(self, wanted: Wanted) -> None:
        with self._news:
            self._wanted = wanted
            self._news.notify()

    def choose(self, id: str | None) -> None:
        with self._news:
            self._chosen = id
            self._news.notify()

    def act(self, act: Act) -> None:
        with self._news:
            self._acts.append(act)
            self._news.notify()

    def stop(self) -> None:
        with self._news:
            self._stopped = True
            self._news.notify()
        if self.is_alive():
            self.join(_END_SECONDS)  # a server that does not answer must not keep the person here

    # --- the thread -----------------------------------------------------------------------------------------

    def run(self) -> None:
        while True:
            with self._news:
                if not (self._stopped or self._has_news()):
                    self._news.wait(_LOOK_SECONDS)
                if self._stopped:
                    break
                wanted, chosen = self._wanted, self._chosen
                acts, self._acts = self._acts, []
            self._turn(wanted, chosen, acts)
        if self._queue is not None:
            self._queue.close()

    def _has_news(self) -> bool:
        # Not in trouble: then the same would be tried again at once, and again.
        asked = self._wanted is not self._shown or self._chosen != self._looked
        return bool(self._acts) or (asked and not self._troubled)

    def _turn(self, wanted: Wanted, chosen: str | None, acts: list[Act]) -> None:
        try:
            queue = self._opened()
            for act in acts:
                self._do(queue, act)
            self._look(queue, wanted, chosen, acted=bool(acts))
        except QueuectlError as error:
            self._tell_trouble(error)
        except Exception as error:  # the view goes on, and says so
            self._tell_trouble(QueuectlError(f"{type(error).__name__}: {error}"))
        else:
            if self._troubled:
                self._troubled = False
                self._listener.trouble(None)

    def _opened(self) -> Queue:
        if self._queue is None:
            # Not made anew: who deletes a store does not want an empty one from somebody who only looks.
            self._queue = open_queue(self._url, create=False)
        return self._queue

    def _do(self, queue: Queue, act: Act) -> None:
        try:
            self._listener.done(self._clean(act(queue)), failed=False)
        except QueuectlError as error:
            self._listener.done(self._worded(error), failed=True)

    def _look(self, queue: Queue, wanted: Wanted, chosen: str | None, *, acted: bool) -> None:
        now = time.monotonic()
        changed = queue.store.changed()
        moved = changed != self._seen and now >= self._next_picture
        late = now >= max(self._last_picture + _LATEST_SECONDS, self._next_picture)
        fresh = wanted is not self._shown or acted or self._troubled or moved or late
        if fresh:
            queue.store.check_identity()
            self._seen = changed  # from before the read: nothing slips in between
            self._listener.picture(take_picture(queue, wanted, self._clean))
            self._shown = wanted
            self._last_picture = time.monotonic()
            pause = max(_SOONEST_SECONDS, _SHARE * (self._last_picture - now))
            self._next_picture = self._last_picture + min(pause, _LONGEST_PAUSE)
        if fresh or chosen != self._looked:
            self._look_at(queue, chosen)
        elif self._live and chosen is not None and (lines := self._looker.grown()) is not None:
            self._listener.log(chosen, lines)

    def _look_at(self, queue: Queue, chosen: str | None) -> None:
        details = None if chosen is None else self._looker.look(queue, chosen)
        self._looked = chosen
        self._live = details is not None and details.live
        self._listener.details(details)

    def _tell_trouble(self, error: QueuectlError) -> None:
        # Also what the person asks for meanwhile is tried only as often as the store is looked at.
        self._troubled = True
        self._listener.trouble(self._worded(error))
        if getattr(error, "lasting", False) and self._queue is not None:
            self._queue.close()
            self._queue = None  # the file may be there again, or another one in its place

    def _worded(self, error: QueuectlError) -> str:
        return self._clean(error.message + (f" ({error.hint})" if error.hint else ""))

"""The heartbeat: its own thread and connection, so that a stall elsewhere never costs the lease.

It renews the lease, hears what others want of this worker, and does the housekeeping that was injected, also
between two beats if that has a time of its own.
What follows from its news is left to the loop.
"""

from __future__ import annotations

import threading

from queuectl import system
from queuectl.errors import InvalidInput, StoreError, WorkerFenced
from queuectl.events import emit
from queuectl.failpoints import failpoint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from queuectl.clock import Clock
    from queuectl.config.settings import Settings
    from queuectl.store.api import Store
    from queuectl.store.messages import Orders
    from queuectl.worker.measures import Measures

    Upkeep = Callable[[Store, Settings, int], object]
    LoadSettings = Callable[[Store], Settings]

_RETRY = 0.5  # seconds after a failed beat


class Heart(threading.Thread):
    """Beats until `stop`. What it learns stands in its attributes; `wake` tells the loop to look."""

    def __init__(
        self,
        *,
        open_store: Callable[[], Store],
        load: LoadSettings,
        settings: Settings,
        clock: Clock,
        wake: Callable[[], None],
        upkeep: Sequence[Upkeep],
        measures: Measures,
    ) -> None:
        super().__init__(name="heart", daemon=True)
        self._open_store = open_store
        self._load = load
        self._clock = clock
        self._wake = wake
        self._upkeep: list[Upkeep] = [*upkeep, measures]
        self._measures = measures
        self._now = threading.Event()
        self._lock = threading.Lock()  # of what belongs to one incarnation
        self._ending = False
        self._failing = False
        self._next_beat = 0.0  # 0: as soon as possible
        self.worker_id = ""
        self.running = 0
        self.settings = settings
        self.orders: Orders | None = None
        self.news = True  # something of what follows has changed
        self.fenced = False
        self.ready = False  # it has the connection without which no lease can be kept
        self.crash: BaseException | None = None
        self.confirmed = clock.monotonic()  # when the last successful renewal began

    def adopt(self, worker_id: str, began: float) -> None:
        """Beat for this incarnation from now on; it has just been registered, which began then."""
        with self._lock:
            self.worker_id = worker_id
            self.confirmed = began
            self.fenced = False

    def beat_now(self) -> None:
        self._now.set()

    def stop(self) -> None:
        self._ending = True
        self._now.set()
        self.join()

    def run(self) -> None:
        try:
            store = self._open_store()
            self.ready = True
            self._tell()
            try:
                while not self._ending:
                    pause = self._turn(store)
                    self._now.wait(pause)
                    if self._now.is_set():
                        self._now.clear()
                        self._next_beat = 0.0
                self._say_the_last(store)
            finally:
                store.close()
        except BaseException as error:  # a bug or a lost store file must end the worker, not only this thread
            self.crash = error
            self._tell()

    def _say_the_last(self, store: Store) -> None:
        """What was measured since; nobody waits for a store that is away for the sake of it."""
        try:
            self._measures.flush(store, self._clock.now())
        except (OSError, StoreError) as error:
            emit("heart.failed", error=str(error))

    def _turn(self, store: Store) -> float:
        worker_id = self.worker_id
        next_beat, self._next_beat = self._next_beat, 0.0  # after a failure we begin with a beat
        beats = self._clock.monotonic() >= next_beat
        try:
            if beats:
                self._beat(store, worker_id)
            for service in self._upkeep:
                service(store, self.settings, self._clock.now())
        except WorkerFenced:
            with self._lock:
                self.fenced = self.worker_id == worker_id  # unless it was renewed in the meantime
            self._tell()
        except OSError as error:  # the machine has no room for our upkeep now
            emit("heart.failed", error=str(error))
            return _RETRY
        except StoreError as error:
            if error.lasting:
                raise
            emit("heart.failed", error=error.message)
            self._failing = True
            return _RETRY
        now = self._clock.monotonic()
        self._next_beat = now + self.settings.worker_heartbeat_interval / 1000 if beats else next_beat
        return max(min(self._next_beat - now, self._until_wanted()), 0.0)

    def _until_wanted(self) -> float:
        """Seconds until some upkeep wants to be called, if it has a time of its own: `next_at`."""
        times = [getattr(service, "next_at", None) for service in self._upkeep]
        wanted = min((time for time in times if time is not None), default=None)
        return float("inf") if wanted is None else (wanted - self._clock.now()) / 1000

    def _beat(self, store: Store, worker_id: str) -> None:
        began = self._clock.monotonic()
        failpoint("heartbeat.before")
        orders = store.heartbeat(
            worker_id, self.settings.worker_lease, self.running, self._clock.now(), system.resident_kb()
        )
        failpoint("heartbeat.after")
        if worker_id == self.worker_id:
            # Counted from the beginning: the store may have taken its time to answer.
            self.confirmed = began
        settings = self._settings(store)
        store.follow(settings)
        back, self._failing = self._failing, False  # the loop waits for it if it was cut off
        if back or orders.control or orders.cancel or _differ(settings, self.settings):
            self.orders, self.settings = orders, settings
            self._tell()

    def _settings(self, store: Store) -> Settings:
        """What is set now; as before if somebody set nonsense: running jobs shall not suffer for it."""
        try:
            return self._load(store)
        except InvalidInput as error:
            emit("heart.failed", error=error.message)
            return self.settings

    def _tell(self) -> None:
        self.news = True
        self._wake()


def _differ(one: Settings, other: Settings) -> bool:
    return any(getattr(one, name) != getattr(other, name) for name in one.names())

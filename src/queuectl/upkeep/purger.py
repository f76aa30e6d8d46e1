"""Retention: deletes jobs that ended longer ago than the settings allow, in small transactions."""

from __future__ import annotations

from queuectl.core import states
from queuectl.events import emit
from queuectl.logfiles import delete_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.config.settings import Settings
    from queuectl.store.api import Store

_EVERY_MS = 10_000
_CHUNK = 500
_CHUNKS = 20  # a turn; the rest waits for the next, so that heartbeats are not held up


class Purger:
    """Called at every heartbeat; works at most once in a while."""

    def __init__(self) -> None:
        self._next = 0

    def __call__(self, store: Store, settings: Settings, now: int) -> None:
        keep = {
            states.COMPLETED: settings.keep_completed,
            states.CANCELLED: settings.keep_cancelled,
            states.DEAD: settings.keep_dead,
        }
        # Earlier than it could have been set: the clock went back.
        if self._next - _EVERY_MS <= now < self._next or not any(keep.values()):
            return
        self._next = now + _EVERY_MS
        for state, age in keep.items():
            if age is not None:
                self._purge(store, state, now - age)

    def _purge(self, store: Store, state: str, before: int) -> None:
        total = 0
        for _ in range(_CHUNKS):
            count, logs = store.purge(state, before, limit=_CHUNK)
            for name in logs:
                delete_log(store.location.logs_dir, name)
            total += count
            if count < _CHUNK:
                break
        if total:
            emit("upkeep.purged", jobs=total, state=state)

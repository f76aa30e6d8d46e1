"""Retention of jobs: deletes ended ones that are older, or more, than the settings allow, a few at a time.

Their output alone is left to `trimmer`.
"""

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
            states.COMPLETED: (settings.keep_completed, settings.keep_completed_count),
            states.CANCELLED: (settings.keep_cancelled, settings.keep_cancelled_count),
            states.DEAD: (settings.keep_dead, settings.keep_dead_count),
        }
        # Earlier than it could have been set: the clock went back.
        if self._next - _EVERY_MS <= now < self._next or not any(map(any, keep.values())):
            return
        self._next = now + _EVERY_MS
        for state, (age, number) in keep.items():
            if age is not None:
                self._purge(store, state, before=now - age)
            if number is not None:
                self._purge(store, state, keep=number)

    def _purge(self, store: Store, state: str, *, before: int | None = None, keep: int = 0) -> None:
        total = 0
        for _ in range(_CHUNKS):
            count, logs = store.purge(state, before, limit=_CHUNK, keep=keep)
            for name in logs:
                delete_log(store.location.logs_dir, name)
            total += count
            if count < _CHUNK:
                break
        if total:
            emit("upkeep.purged", jobs=total, state=state)

"""Keeps the store's counts of jobs small, and its past: a few rows, however long it is in use."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.config.settings import Settings
    from queuectl.store.api import Store

_TIDY_MS = 600_000
_SAMPLE_MS = 60_000


class Bookkeeper:
    """Called at every heartbeat; works once in a while, and not at once: some workers live but briefly."""

    def __init__(self) -> None:
        self._tidy_at: int | None = None
        self._minute: int | None = None

    def __call__(self, store: Store, settings: Settings, now: int) -> None:  # noqa: ARG002
        minute = now // _SAMPLE_MS
        if self._minute is not None and minute != self._minute and store.history().sample(now):
            store.runtimes().prune()  # of all workers, the one that was first does it
        self._minute = minute
        if self._tidy_at is None:
            self._tidy_at = now + _TIDY_MS
        elif self._tidy_at > now + _TIDY_MS:
            self._tidy_at = now + _TIDY_MS  # the clock went back
        elif now >= self._tidy_at and store.history().fold(now):  # else it goes on at the next heartbeat
            store.bookkeeping().tidy()
            self._tidy_at = now + _TIDY_MS

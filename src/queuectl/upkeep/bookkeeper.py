"""Keeps the store's counts of jobs small: a few rows, however long it is in use."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.config.settings import Settings
    from queuectl.store.api import Store

_EVERY_MS = 600_000


class Bookkeeper:
    """Called at every heartbeat; works once in a while, and not at once: some workers live but briefly."""

    def __init__(self) -> None:
        self._next: int | None = None

    def __call__(self, store: Store, settings: Settings, now: int) -> None:  # noqa: ARG002
        if self._next is not None and now >= self._next:
            store.bookkeeping().tidy(now)
        elif self._next is not None:
            return
        self._next = now + _EVERY_MS

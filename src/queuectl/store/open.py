"""From a location to its store. A server's driver is imported only when its URL asks for it."""

from __future__ import annotations

from queuectl.store.sqlite import SqliteStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.paths import Location
    from queuectl.store.api import Store


def open_store(location: Location, *, create: bool = True, busy_ms: int = 10_000) -> Store:
    return SqliteStore(location, create=create, busy_ms=busy_ms)

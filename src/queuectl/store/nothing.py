"""The store where there is none yet, for those who only look: empty, in memory, gone at the end."""

from __future__ import annotations

import apsw

from queuectl.store.migrate import migrate
from queuectl.store.sqlite import SqliteStore
from queuectl.store.sqlite_connection import SqliteConnection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.paths import Location
    from queuectl.store.figures import Figures

__all__ = ["EmptyStore"]


class EmptyStore(SqliteStore):
    """Stands in at this location, of whichever engine; nothing is made there."""

    def __init__(self, location: Location) -> None:
        self.location = location
        self.connection = _InMemory(location.shown, create=False, busy_ms=0)
        migrate(self.connection)

    def figures(self) -> Figures:
        from queuectl.store.figures import Figures

        return Figures(self.connection, self.location, exists=False)


class _InMemory(SqliteConnection):
    def _connect(self, *, create: bool) -> None:  # noqa: ARG002
        self._db = apsw.Connection(":memory:")

    def check_identity(self) -> None:
        """There is no file that somebody could replace."""

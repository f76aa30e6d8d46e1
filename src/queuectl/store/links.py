"""Which job waits for which, and what follows when one has ended."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.store.connection import Connection


class Links:
    """Over a store's connection."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

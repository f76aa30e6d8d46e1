"""The rules of queues: limits, rates, defaults, pauses."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.store.connection import Connection


class Queues:
    """Over a store's connection."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

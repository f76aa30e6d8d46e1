"""HTTP as uvicorn speaks it, with the patience and the number of connections bounded."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

_HEADER_S = 10.0  # for the head of a request
MOST_CONNECTIONS = 512
MOST_OF_ONE = 256  # of one client, which may be a proxy


class Bounded(H11Protocol):
    """h11, which refuses what can be read in two ways, and not httptools; slow and too many are cut off."""

    _open = 0
    _by_client: dict[str, int] = {}  # noqa: RUF012  # shared by all connections: that is the point

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        client = self.client[0] if self.client else ""
        cls = type(self)
        cls._open += 1
        cls._by_client[client] = cls._by_client.get(client, 0) + 1
        self._counted = client
        self._patience: asyncio.TimerHandle | None = None
        if cls._open > MOST_CONNECTIONS or cls._by_client[client] > MOST_OF_ONE:
            transport.abort()
            return
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        cls = type(self)
        cls._open -= 1
        left = cls._by_client.get(self._counted, 1) - 1
        if left:
            cls._by_client[self._counted] = left
        else:
            cls._by_client.pop(self._counted, None)
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()
        elif self._patience is None:
            self._wait_for_head()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.transport.is_closing() and self._patience is None:
            self._wait_for_head()

    def _wait_for_head(self) -> None:
        self._patience = self.loop.call_later(_HEADER_S, self._give_up)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _give_up(self) -> None:
        self._patience = None
        if not self.transport.is_closing():
            self.transport.abort()

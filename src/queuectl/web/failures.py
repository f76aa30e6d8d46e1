"""How often somebody has come with a wrong token lately."""

from __future__ import annotations

import ipaddress
import time
from collections import deque
from collections.abc import Callable

_MOST = 10  # within the time
_SECONDS = 60.0
_MOST_CLIENTS = 10_000


class Failures:
    """By address; of IPv6 by network, for everybody has as many addresses there as he likes."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock  # in seconds
        self._by_client: dict[str, deque[float]] = {}

    def too_many(self, client: str) -> bool:
        recent = self._by_client.get(_network(client), deque())
        return len(recent) == _MOST and recent[0] > self._clock() - _SECONDS

    def note(self, client: str) -> None:
        key = _network(client)
        if key not in self._by_client and len(self._by_client) >= _MOST_CLIENTS:
            self._forget_old()
        self._by_client.setdefault(key, deque(maxlen=_MOST)).append(self._clock())

    def _forget_old(self) -> None:
        """The oldest tenth, whatever they did: who comes from so many addresses must not fill the memory."""
        oldest = sorted(self._by_client, key=lambda key: self._by_client[key][-1])
        for key in oldest[: _MOST_CLIENTS // 10]:
            del self._by_client[key]


def _network(client: str) -> str:
    try:
        address = ipaddress.ip_address(client.partition("%")[0])
    except ValueError:
        return client
    if address.version == 4 or address.is_loopback or address.ipv4_mapped:
        return client
    return str(ipaddress.ip_network((address, 64), strict=False))

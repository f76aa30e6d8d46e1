"""A service manager as far as a service can tell: a datagram socket that it listens on."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PERIOD = 0.6  # seconds that may pass between two signs of life


class Manager:
    """`manager.env` goes to the service; `manager.hears("READY=1")` waits for a message with that line."""

    def __init__(self, address: str) -> None:
        self._link = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._link.bind("\0" + address[1:] if address.startswith("@") else address)
        self.said: list[str] = []  # whatever was heard so far
        self.env = {"NOTIFY_SOCKET": address, "WATCHDOG_USEC": str(int(PERIOD * 1_000_000))}

    def hears(self, line: str, within: float = 20.0) -> str | None:
        """The next message with this line; None if none came in time."""
        deadline = time.monotonic() + within
        while (left := deadline - time.monotonic()) > 0:
            self._link.settimeout(left)
            try:
                message = self._link.recv(4096).decode()
            except TimeoutError:
                return None
            self.said.append(message)
            if any(said.startswith(line) for said in message.splitlines()):
                return message
        return None

    def catch_up(self) -> None:
        """Forget what has been said so far."""
        self._link.setblocking(False)
        try:
            while self._link.recv(4096):
                pass
        except BlockingIOError:
            pass

    def close(self) -> None:
        self._link.close()


@contextmanager
def manager(directory: Path, *, abstract: bool = False) -> Iterator[Manager]:
    name = f"@queuectl-test-{os.getpid()}-{time.monotonic_ns()}"
    found = Manager(name if abstract else str(directory / "notify"))
    try:
        yield found
    finally:
        found.close()

"""Waiting for file descriptors: epoll where there is one, poll elsewhere, behind one face.

What is read from them is left to the callers.
"""

from __future__ import annotations

import os
import select
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Poller(Protocol):
        """Which descriptors can be read. A descriptor that is closed leaves by itself."""

        def register(self, fd: int, eventmask: int = ...) -> None: ...

        def unregister(self, fd: int) -> None: ...

        def poll(self, timeout: float | None = ...) -> list[tuple[int, int]]: ...

        def close(self) -> None: ...


READABLE = select.POLLIN  # the same number as EPOLLIN


class PortablePoller:
    """select.poll with the manners of epoll."""

    def __init__(self) -> None:
        self._poll = select.poll()

    def register(self, fd: int, eventmask: int = READABLE) -> None:
        self._poll.register(fd, eventmask)

    def unregister(self, fd: int) -> None:
        self._poll.unregister(fd)

    def poll(self, timeout: float | None = None) -> list[tuple[int, int]]:
        ready = []
        for fd, event in self._poll.poll(None if timeout is None else timeout * 1000):
            if event & select.POLLNVAL:
                self._poll.unregister(fd)  # it was closed
            else:
                ready.append((fd, event))
        return ready

    def close(self) -> None:
        self._poll = select.poll()


def make_poller() -> Poller:
    if sys.platform == "linux" and os.environ.get("QUEUECTL_PORTABLE") != "1":
        return select.epoll()
    return PortablePoller()

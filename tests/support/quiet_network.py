"""Links of this computer do not come and go while a browser looks at a page.

Chromium drops its requests when it hears of a new network (ERR_NETWORK_CHANGED), whatever address they go to.
Test processes run side by side, so whoever makes networks and whoever has a page agree by locks on files.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def links_stay() -> Iterator[None]:
    """For pages, of which there may be several at once. Whoever waits to change links comes first."""
    with _locked("door", fcntl.LOCK_EX):
        lock = _lock("links", fcntl.LOCK_SH)
    try:
        yield
    finally:
        os.close(lock)


@contextmanager
def links_may_change() -> Iterator[None]:
    """For as long as they do: when they are made, and when they go."""
    with _locked("door", fcntl.LOCK_EX), _locked("links", fcntl.LOCK_EX):
        yield


@contextmanager
def _locked(name: str, how: int) -> Iterator[None]:
    lock = _lock(name, how)
    try:
        yield
    finally:
        os.close(lock)


def _lock(name: str, how: int) -> int:
    path = os.path.join(tempfile.gettempdir(), f"queuectl-tests-{name}-{os.getuid()}.lock")
    fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    fcntl.flock(fd, how)
    return fd

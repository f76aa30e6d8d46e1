"""Wakes sleeping workers: on this machine by one FIFO per worker in the store's run directory.

Those of other machines hear of it through the store, if it can tell them. Only a hint: a ring can be lost,
and a slow poll stands behind it. A FIFO and not a socket because its path may be of any length, it is private
by its mode, and ringing it needs no import beyond `os`.
"""

from __future__ import annotations

import os

from queuectl.paths import inside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from queuectl.paths import Location

    class Announcing(Protocol):
        """A store, as far as we need it."""

        location: Location

        def notify(self, what: bytes) -> None: ...


JOB = b"j"  # there may be something to claim
CONTROL = b"c"  # a setting, a cancel or a stop request changed
RESCUE = b"r"  # a worker may have died

_SUFFIX = ".bell"


def announce(store: Announcing, what: bytes) -> None:
    """Wake the workers of this store, wherever they are."""
    ring(store.location.run_dir, what)
    store.notify(what)


def ring(run_dir: str, what: bytes) -> int:
    """Ring every bell in the directory; returns how many workers were reached.

    A ring is only a hint, and what it tells of is stored already: whatever goes wrong with it must not look
    as if that had not been done.
    """
    reached = 0
    try:
        names = os.listdir(run_dir)
    except OSError:
        return 0
    for name in names:
        if name.endswith(_SUFFIX):
            reached += _ring_one(os.path.join(run_dir, name), what)
    return reached


def _ring_one(path: str, what: bytes) -> bool:
    try:
        fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        # Nobody reads it any more; bells of dead workers are removed by the rescuer, which knows whose they
        # were. Or it is a link, which is not ours and may lead to any file; or no descriptor is left.
        return False
    try:
        os.write(fd, what)
    except BlockingIOError:
        pass  # the pipe is full of rings: its worker will wake anyway
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def bell_path(run_dir: str, name: str) -> str:
    return inside(run_dir, name + _SUFFIX)


class Bell:
    """The listening end, owned by one worker."""

    __slots__ = ("fd", "path")

    def __init__(self, run_dir: str, name: str) -> None:
        self.path = bell_path(run_dir, name)
        os.mkfifo(self.path, 0o600)
        # Opened for writing too, so that it never reports end of file between two ringers.
        self.fd = os.open(self.path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)

    def heard(self) -> bytes:
        """The rings since the last call; empties the bell."""
        try:
            return os.read(self.fd, 65536)
        except BlockingIOError:
            return b""

    def close(self) -> None:
        os.close(self.fd)
        try:
            os.unlink(self.path)
        except FileNotFoundError:
            pass

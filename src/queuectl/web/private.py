"""Files that only their owner may read, and that are read anew when they are others."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import secrets
import stat
from contextlib import contextmanager
from typing import Generic, TypeVar

from queuectl.errors import StoreError
from queuectl.paths import make_private_dir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")
_LARGEST = 16 * 1024 * 1024  # characters
_LOCK_FILE = "dashboard.lock"


class Watched(Generic[T]):
    """What a file holds. `read` is called only when the file is another one: every request asks."""

    __slots__ = ("_read", "_stamp", "_value", "path")

    def __init__(self, path: str, read: Callable[[str], T]) -> None:
        self.path = path
        self._read = read
        self._stamp = _stamp(path)
        self._value = read(path)

    @property
    def value(self) -> T:
        stamp = _stamp(self.path)  # before it is read: a change in between is seen at the next time
        if stamp != self._stamp:
            self._value = self._read(self.path)
            self._stamp = stamp
        return self._value


def _stamp(path: str) -> tuple[int, ...]:
    try:
        info = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return ()
    return info.st_mtime_ns, info.st_ctime_ns, info.st_ino, info.st_size


def load_private(path: str, otherwise: object, fits: Callable[[object], bool]) -> object:
    """The JSON of a file, or what is said if there is none."""
    try:
        found = json.loads(read_private(path))
    except FileNotFoundError:
        return otherwise
    except (OSError, ValueError, RecursionError) as error:
        raise StoreError(f"cannot use {path}: {error}", "correct it or move it away") from None
    if not fits(found):
        raise StoreError(f"cannot use {path}: it holds something else", "correct it or move it away")
    return found


def read_private(path: str) -> str:
    """Not through a link, and not a pipe or the like that somebody could have put there."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(fd, encoding="utf-8") as file:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode) or info.st_uid not in (os.geteuid(), 0):
            raise OSError(errno.EPERM, "it is not a file of ours")
        if info.st_mode & 0o077 and info.st_uid == os.geteuid():
            os.fchmod(fd, 0o600)
        return file.read(_LARGEST)


def write_private(path: str, text: str) -> None:
    """A file that did not exist: others can read it at no moment, whatever the umask says."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(fd, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(fd)


def replace_private(path: str, text: str) -> None:
    """Whole or not at all."""
    temporary = temporary_name(path)
    try:
        write_private(temporary, text)
        os.replace(temporary, path)
    except OSError as error:
        if os.path.lexists(temporary):
            os.unlink(temporary)
        raise StoreError(
            f"cannot write {path}: {error.strerror}", "see that its directory is yours"
        ) from None


def temporary_name(path: str) -> str:
    return f"{path}.{os.getpid()}.{secrets.token_hex(4)}"


@contextmanager
def alone(state_dir: str) -> Iterator[None]:
    """Of two who change a file at once one would bring back what the other has removed."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(os.path.join(make_private_dir(state_dir), _LOCK_FILE), flags, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)

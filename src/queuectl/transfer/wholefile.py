"""Files that stand under their name only when they are whole, and what is left of those that never became so.

What is written into them is left to `export` and `backup`.
"""

from __future__ import annotations

import os
import re
import stat
import time
from itertools import count

from queuectl import system
from queuectl.errors import InvalidInput, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.paths import Location

_HOST_LENGTH = 20  # a name is only so long
_UNFINISHED = r"\.tmp-([0-9]+)(-.*?)?(?:\.content)?(?:-journal)?"
_LEFT_AFTER = 24 * 3600  # seconds in which nobody has written to it


def unfinished_name(path: str) -> str:
    """What a file is called while this process writes it: others can tell whether we still live."""
    return f"{path}.tmp-{os.getpid()}{_here()}"


def _here() -> str:
    return "-" + system.hostname()[:_HOST_LENGTH]


def refuse_existing(path: str) -> None:
    if os.path.lexists(path):
        raise Refused(f"{path} exists already", "name another file, or replace it with --force")


def refuse_store(path: str, store: Location, what: str) -> None:
    """Nor the files beside it: its newest jobs are in its log."""
    if not store.file:
        return
    real = os.path.realpath(path)
    for end in ("", "-wal", "-shm", "-journal"):
        mine = store.file + end
        there = os.path.exists(real) and os.path.exists(mine)
        if (there and os.path.samefile(real, mine)) or (end and real == mine):
            which = f"a file of the store: {real}" if end else "the store itself"
            raise InvalidInput(f"{what} cannot be {which}", "name another file")


def free_name(stem: str, end: str = "") -> str:
    """The first name of its kind that nobody has, nor the log of a store beside it."""
    for number in count(1):
        name = f"{stem}-{number}{end}" if number > 1 else stem + end
        if not any(os.path.lexists(name + beside) for beside in ("", "-wal", "-shm")):
            return name
    raise AssertionError("numbers do not end")


def give_name(unfinished: str, path: str, *, force: bool) -> None:
    """Only with `force` over a file that exists, even if that has come into being meanwhile."""
    if force:
        os.replace(unfinished, path)
        return
    try:
        os.link(unfinished, path)
    except FileExistsError:
        refuse_existing(path)
        raise
    except OSError:  # a file system without links
        os.rename(unfinished, path)
    else:
        os.unlink(unfinished)


def remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


# --- what was left ------------------------------------------------------------------------------------------


def clear_leftovers(directory: str, name: str) -> None:
    """Of writers that were killed; `name` is a pattern. Those that are being written are left alone.

    Of another machine's process, or when another process has its number by now, only time can tell.
    """
    pattern = re.compile(name + _UNFINISHED)
    for other in os.listdir(directory):
        found = pattern.fullmatch(other)
        if not found:
            continue
        path = os.path.join(directory, other)
        if (found[2] == _here() and not is_running(int(found[1]))) or _is_old(path):
            try:
                remove(path)
            except OSError:
                pass  # in /tmp, say, where others have left theirs


def is_running(pid: int) -> bool:
    """Whether there is another process with this number."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):  # no process can have such a number
        return False
    except OSError:
        pass  # somebody else's
    return pid != os.getpid()


def _is_old(path: str) -> bool:
    try:
        return time.time() - os.lstat(path).st_mtime > _LEFT_AFTER
    except OSError:
        return False


# --- text ---------------------------------------------------------------------------------------------------


class WholeFile:
    """A private file of text, under its name only when it is whole and on the disk.

    What is no ordinary file (a pipe, /dev/null) is written to as it is, never replaced.
    """

    def __init__(self, path: str, *, force: bool) -> None:
        self._path = os.path.realpath(path)
        self._force = force
        self._named_last = not os.path.exists(self._path) or stat.S_ISREG(os.stat(self._path).st_mode)
        self._unfinished = unfinished_name(self._path) if self._named_last else self._path
        if self._named_last and not force:
            refuse_existing(self._path)
        try:
            if self._named_last:
                parent, name = os.path.split(self._path)
                clear_leftovers(parent, re.escape(name))
            flags = os.O_CREAT | os.O_EXCL if self._named_last else 0
            fd = os.open(self._unfinished, os.O_WRONLY | os.O_CLOEXEC | flags, 0o600)
        except OSError as error:
            raise InvalidInput(f"cannot write {path}: {error.strerror}", "choose another file") from None
        self._file = open(fd, "w", encoding="ascii")  # noqa: SIM115  # closed by __exit__
        self.write = self._file.write

    def __enter__(self) -> WholeFile:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self._give_up()
            return
        try:
            self._file.flush()
            if self._named_last:
                os.fsync(self._file.fileno())
            self._file.close()
            if self._named_last:
                give_name(self._unfinished, self._path, force=self._force)
                _sync_directory(os.path.dirname(self._path))
        except BaseException:
            self._give_up()
            raise

    def _give_up(self) -> None:
        try:
            self._file.close()
        except OSError:
            pass  # a full disk: what went before says so already
        if self._named_last:
            remove(self._unfinished)


def _sync_directory(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)

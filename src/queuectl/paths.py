"""Where things live: the home, the store's location, and the private directories beside it.

~/.queuectl/             0700, moved by QUEUECTL_HOME
  queue.db               the default store
  config.toml            settings of this user, if there are any
  logs/  run/            long output; doorbells, ledgers and supervisors of running workers
/elsewhere/jobs.db.d/    logs/ and run/ of a store that is somewhere else
"""

from __future__ import annotations

import os
import stat

from queuectl import system
from queuectl.errors import InvalidInput, StoreError

_HOME_MARK = ".queuectl-home"


class Location:
    """A store's address and the directory for the files that belong to it."""

    __slots__ = ("file", "state_dir", "url")

    def __init__(self, url: str, file: str, state_dir: str) -> None:
        self.url = url
        self.file = file
        self.state_dir = state_dir

    @property
    def run_dir(self) -> str:
        return os.path.join(self.state_dir, "run")

    @property
    def logs_dir(self) -> str:
        return os.path.join(self.state_dir, "logs")


def locate(url: str | None = None) -> Location:
    """Which store is meant: the argument, else QUEUECTL_DB, else the file in the home."""
    given = url or os.environ.get("QUEUECTL_DB") or os.environ.get("QUEUECTL_DB_PATH")
    # One canonical path: SQLite's locks, our identity check and the doorbells go by the real file.
    home = os.path.realpath(system.default_home())
    default = os.path.realpath(os.path.join(home, "queue.db"))
    file = _file_of(given, default) if given else default
    return Location(file, file, home if file == default else _beside(file))


def _beside(file: str) -> str:
    """The directory of a store that is named by its path: the same one that its home would give it.

    A process with another QUEUECTL_HOME must find the same doorbells and logs, so a home is marked as one.
    """
    parent, name = os.path.split(file)
    if name == "queue.db" and os.path.exists(os.path.join(parent, _HOME_MARK)):
        return parent
    return file + ".d"


def mark_home(location: Location) -> None:
    """Leave the mark in a new home."""
    if location.state_dir == os.path.dirname(location.file):
        path = os.path.join(location.state_dir, _HOME_MARK)
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))


def _file_of(given: str, default: str) -> str:
    if "\0" in given:
        raise InvalidInput("the database path contains a NUL byte")
    scheme, separator, rest = given.partition("://")
    if not separator:
        return os.path.realpath(os.path.expanduser(given))
    if scheme.lower() != "sqlite":
        raise InvalidInput(
            f"unsupported database address: {scheme}://…",
            "give a file path or sqlite:///path/to/file",
        )
    # Four slashes are as good as three: some libraries write absolute paths so.
    path = "/" + rest.lstrip("/") if rest.startswith("/") else rest
    return os.path.realpath(path) if path.strip("/") else default


def make_private_dir(path: str) -> str:
    """Create a directory that only its owner can enter, or check that an existing one is ours."""
    try:
        _make_missing(path)
        _check_owner(path)
    except OSError as error:
        raise StoreError(
            f"cannot create {path}: {error.strerror}",
            "choose another place with QUEUECTL_HOME or --db",
        ) from error
    return path


def make_parent_dir(location: Location) -> None:
    """The directory of the store's file: ours or new it is private, else it is left as it is."""
    parent = os.path.dirname(location.file)
    if parent == location.state_dir or not os.path.isdir(parent):
        make_private_dir(parent)


def _make_missing(path: str) -> None:
    """Like makedirs, but private at every level, or others could swap what is below (umask 0)."""
    if os.path.lexists(path):
        return
    parent = os.path.dirname(path)
    if parent not in ("", path):
        _make_missing(parent)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        pass  # another process made it at the same moment


def _check_owner(path: str) -> None:
    info = os.lstat(path)
    if not stat.S_ISDIR(info.st_mode):
        raise StoreError(f"{path} is not a directory", "move it out of the way")
    if not hasattr(os, "getuid"):
        return
    if info.st_uid not in (os.getuid(), 0):
        raise StoreError(f"{path} belongs to another user", "choose another place: QUEUECTL_HOME")
    if info.st_mode & stat.S_ISVTX:
        # As root we would otherwise lock everybody out of /tmp.
        raise StoreError(f"{path} is shared with others", "choose a directory below it")
    if info.st_mode & 0o077 and info.st_uid == os.getuid():
        os.chmod(path, 0o700)

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
    home = system.default_home()
    if not given:
        return Location(os.path.join(home, "queue.db"), os.path.join(home, "queue.db"), home)
    if "\0" in given:
        raise InvalidInput("the database path contains a NUL byte")
    scheme, separator, rest = given.partition("://")
    if separator and scheme == "sqlite":
        given = rest if rest.startswith("/") and not rest.startswith("//") else rest.lstrip("/")
        given = given or os.path.join(home, "queue.db")
    elif separator:
        raise InvalidInput(
            f"unsupported database address: {scheme}://…",
            "give a file path or sqlite:///path/to/file",
        )
    # One canonical path: SQLite's locks and our identity check go by the real file.
    file = os.path.realpath(os.path.expanduser(given))
    if file == os.path.realpath(os.path.join(home, "queue.db")):
        return Location(file, file, os.path.dirname(file))
    return Location(file, file, file + ".d")


def make_private_dir(path: str) -> str:
    """Create a directory that only its owner can enter, or check that an existing one is ours."""
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        os.mkdir(path, 0o700)
    except FileExistsError:
        _check_owner(path)
    except OSError as error:
        raise StoreError(
            f"cannot create {path}: {error.strerror}",
            "choose another place with QUEUECTL_HOME or --db",
        ) from error
    return path


def _check_owner(path: str) -> None:
    info = os.lstat(path)
    if not stat.S_ISDIR(info.st_mode):
        raise StoreError(f"{path} is not a directory", "move it out of the way")
    if hasattr(os, "getuid") and info.st_uid not in (os.getuid(), 0):
        raise StoreError(f"{path} belongs to another user", "choose another place: QUEUECTL_HOME")
    if info.st_mode & 0o077 and info.st_uid == os.getuid():
        os.chmod(path, 0o700)

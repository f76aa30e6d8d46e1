"""Where things live: the home, the store's location, and the private directories beside it.

~/.queuectl/             0700, moved by QUEUECTL_HOME
  queue.db               the default store
  config.toml            settings of this user, if there are any
  logs/  run/            long output; doorbells, ledgers and supervisors of running workers
  servers/NAME/          logs/ and run/ of this machine's workers for a store on a server
/elsewhere/jobs.db.d/    logs/ and run/ of a store that is somewhere else
"""

from __future__ import annotations

import os
import stat

from queuectl.errors import InvalidInput, StoreError

_HOME_MARK = ".queuectl-home"


SQLITE = "sqlite"


class Location:
    """A store's address and the directory for the files that belong to it."""

    __slots__ = ("engine", "file", "shown", "state_dir", "url")

    def __init__(
        self, url: str, file: str, state_dir: str, *, engine: str = SQLITE, shown: str | None = None
    ) -> None:
        self.url = url
        self.file = file  # empty for a server
        self.state_dir = state_dir
        self.engine = engine
        self.shown = shown or url  # for people: no password in it

    @property
    def shared(self) -> bool:
        """Whether workers of several machines can use it."""
        return self.engine != SQLITE

    @property
    def run_dir(self) -> str:
        return os.path.join(self.state_dir, "run")

    @property
    def logs_dir(self) -> str:
        return os.path.join(self.state_dir, "logs")


def workers_log(location: Location) -> str:
    """Where background workers write what went wrong."""
    return os.path.join(location.logs_dir, "workers.log")


def default_home() -> str:
    """The directory of the queue: QUEUECTL_HOME, else .queuectl in the user's own directory."""
    home = os.path.expanduser(os.environ.get("QUEUECTL_HOME") or os.path.join(_own_directory(), ".queuectl"))
    if home.startswith("~"):
        # Else a directory named "~" would appear wherever the command happens to run.
        raise InvalidInput("cannot tell your home directory", "set QUEUECTL_HOME to a directory")
    return os.path.abspath(home)


def _own_directory() -> str:
    """An empty HOME is none; taken at its word it would be the root of the file system."""
    if os.environ.get("HOME") != "":
        return "~"
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_dir or "~"
    except KeyError:
        return "~nobody-at-all"


def locate(url: str | None = None) -> Location:
    """Which store is meant: the argument, else QUEUECTL_DB, else `db` in the config file, else the home's."""
    given = url or os.environ.get("QUEUECTL_DB") or os.environ.get("QUEUECTL_DB_PATH") or _configured()
    # One canonical path: SQLite's locks, our identity check and the doorbells go by the real file.
    home = os.path.realpath(default_home())
    if given and "://" in given:
        from queuectl.address import Address, is_server

        if is_server(given):
            address = Address(given)
            state_dir = os.path.join(home, "servers", address.place)
            return Location(given, "", state_dir, engine=address.engine, shown=address.shown)
    default = os.path.realpath(os.path.join(home, "queue.db"))
    file = _file_of(given, default) if given else default
    return Location(file, file, home if file == default else _beside(file))


def config_file() -> str:
    return os.path.join(default_home(), "config.toml")


def config_table() -> dict[str, object]:
    """What the user's config file says, as it stands there."""
    path = config_file()
    if not os.path.exists(path):  # tomllib costs more than the rest of `enqueue`'s imports
        return {}
    import tomllib

    try:
        # Without blocking: somebody could have put a pipe there.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            info = os.fstat(file.fileno())
            if not stat.S_ISREG(info.st_mode) or info.st_uid not in (os.getuid(), 0):
                # It says where the store is, and so whose commands are run.
                raise InvalidInput(f"{path} is not a file of yours", "look into it, and move it away")
            return tomllib.load(file)
    except (OSError, ValueError) as error:  # not TOML, or not UTF-8
        raise InvalidInput(f"cannot read {path}: {error}", "correct it or move it away") from None


def _configured() -> str | None:
    found = config_table().get("db")
    if found is not None and not isinstance(found, str):
        raise InvalidInput(f"{config_file()}: db must be text", 'like db = "postgresql://user@host/database"')
    return found


def _beside(file: str) -> str:
    """The directory of a store that is named by its path: the same one that its home would give it.

    A process with another QUEUECTL_HOME must find the same doorbells and logs, so a home is marked as one.
    """
    parent, name = os.path.split(file)
    if name == "queue.db" and os.path.exists(os.path.join(parent, _HOME_MARK)):
        return parent
    return file + ".d"


def is_made(file: str) -> bool:
    """Whether there is a store. An empty file is none yet, though opening it would make one of it.

    What is no file can never be one: to open it says so.
    """
    try:
        info = os.stat(file)
        return info.st_size > 0 or not stat.S_ISREG(info.st_mode)
    except FileNotFoundError:
        return False
    except OSError as error:
        hint = "choose another place with QUEUECTL_HOME or --db"
        raise StoreError(f"cannot look at {file}: {error.strerror}", hint) from error


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
            "give a file path, postgresql://user@host/database or mysql://user@host/database",
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


def inside(directory: str, name: str) -> str:
    """The file of this name in a directory. One that was read from a store must not lead out of it."""
    return os.path.join(directory, name.replace("/", "_").replace("\0", "_"))


def make_parent_dir(location: Location) -> None:
    """The directory of the store's file: ours or new it is private, else it is left as it is."""
    parent = os.path.dirname(location.file)
    if parent == location.state_dir or not os.path.isdir(parent):
        make_private_dir(parent)
    elif os.path.lexists(location.state_dir):
        make_private_dir(location.state_dir)  # else whoever could put a link into it has chosen the file


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
        if info.st_mode & 0o022:
            _refuse_planted(path)
        os.chmod(path, 0o700)


def _refuse_planted(path: str) -> None:
    """Others could write here until now: what they left may be a store, or a link to a file of ours."""
    with os.scandir(path) as entries:
        for entry in entries:
            info = entry.stat(follow_symlinks=False)
            linked = info.st_nlink > 1 and not stat.S_ISDIR(info.st_mode)
            if linked or info.st_uid not in (os.getuid(), 0):
                raise StoreError(
                    f"{path} was open to others, and {entry.name!r} in it is not ours alone",
                    "remove it, or choose another place: QUEUECTL_HOME",
                )

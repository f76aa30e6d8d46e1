"""Control groups (version 2) for single commands: memory and processes of a whole tree, killed as one.

Only in a cgroup that is ours to divide: one that systemd has delegated (`Delegate=yes`), or the root of a
container or machine. Nobody else's is touched. Which limits a command has is left to `limits`.
"""

from __future__ import annotations

import errno
import os

# Where the processes of a delegated cgroup go: one that passes limits on may not have any itself.
WORKERS = "queuectl-workers"
_JOB = "queuectl-job-"
_MARKS = ("user.delegate", "trusted.delegate")  # systemd's, on what it has given away


class Unavailable(Exception):
    """Why there are no cgroups for us."""


class Group:
    """The cgroup of one command. What the kernel does not tell is 0."""

    def __init__(self, owner: Cgroups, path: str) -> None:
        self._owner = owner
        self._path = path

    @property
    def entrance(self) -> str:
        """The file by which a process joins."""
        return os.path.join(self._path, "cgroup.procs")

    def set(self, name: str, value: str) -> None:
        _write(os.path.join(self._path, name), value)

    def offers(self, name: str) -> bool:
        return os.path.exists(os.path.join(self._path, name))

    def count(self, file: str, event: str) -> int:
        """How often something has happened: `memory.events` has oom_kill, `pids.events` has max."""
        for line in self._lines(file):
            name, _, number = line.partition(" ")
            if name == event:
                return int(number)
        return 0

    def is_populated(self) -> bool:
        return "populated 1" in self._lines("cgroup.events")

    def kill(self) -> bool:
        """KILL all that is in it, at once; False if this kernel cannot (before 5.14)."""
        try:
            self.set("cgroup.kill", "1")
        except OSError:
            return False
        return True

    def remove(self) -> None:
        """Now if it is empty; else when we get to it again. What a command leaves behind may live on."""
        self._owner.remove(self._path)

    def _lines(self, file: str) -> list[str]:
        try:
            return _read(os.path.join(self._path, file)).splitlines()
        except OSError:
            return []


class Cgroups:
    """Makes the cgroups of commands below `base`, in which the controllers are on."""

    def __init__(self, base: str, controllers: frozenset[str]) -> None:
        self.base = base
        self.controllers = controllers
        self._left: list[str] = []  # not empty yet when their command had ended
        self._remove_abandoned()

    def make(self, token: str) -> Group:
        path = os.path.join(self.base, f"{_JOB}{os.getpid()}-{token}")
        self.make_directory(path)
        return Group(self, path)

    def remove(self, path: str) -> None:
        self._left = [left for left in [*self._left, path] if not self._gone(left)]

    def close(self) -> None:
        self._left = [left for left in self._left if not self._gone(left)]

    def _gone(self, path: str) -> bool:
        try:
            self.remove_directory(path)
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return True

    def _remove_abandoned(self) -> None:
        """Those of workers that are gone, as far as nobody lives in them."""
        for name in os.listdir(self.base):
            pid = name.removeprefix(_JOB).partition("-")[0]
            if name.startswith(_JOB) and pid.isdecimal() and not _exists(int(pid)):
                self._gone(os.path.join(self.base, name))

    # The kernel makes and removes the files of a cgroup with its directory.

    def make_directory(self, path: str) -> None:
        os.mkdir(path, 0o755)

    def remove_directory(self, path: str) -> None:
        os.rmdir(path)


def find(wanted: frozenset[str], proc: str = "/proc") -> Cgroups:
    """The place for cgroups of commands with at least one of the wanted controllers, or Unavailable."""
    base = _base(own_place(proc))
    try:
        offered = frozenset(_read(os.path.join(base, "cgroup.controllers")).split()) & wanted
    except OSError as error:
        raise Unavailable(f"{base}: {error.strerror}") from None
    if not offered:
        raise Unavailable(f"{base} has no controller for {' or '.join(sorted(wanted))}")
    if not os.access(base, os.W_OK):
        raise Unavailable(f"{base} cannot be written to")
    if not is_root(base) and not is_delegated(base):
        raise Unavailable(f"{base} is not delegated to us (Delegate=yes in a systemd unit)")
    try:
        switch_on(base, offered)
        return Cgroups(base, offered)
    except OSError as error:
        raise Unavailable(f"{error.filename or base}: {error.strerror}") from None


def own_place(proc: str = "/proc") -> str:
    """The directory of the cgroup that we are in."""
    return own_cgroup(_read_or_nothing(f"{proc}/self/cgroup"), _mounts(proc))


def own_cgroup(membership: str, mounts: list[tuple[str, str]]) -> str:
    """The directory of our own cgroup, from /proc/self/cgroup and the mounts of cgroup2 (root, place)."""
    for line in membership.splitlines():
        if line.startswith("0::/"):
            path = line.removeprefix("0::")
            break
    else:
        raise Unavailable("this system has no cgroup v2")
    for root, place in mounts:
        if path == root or path.startswith(root.rstrip("/") + "/"):
            below = path[len(root.rstrip("/")) :].strip("/")
            return os.path.join(place, below) if below else place
    raise Unavailable("our cgroup is not mounted here")


def switch_on(base: str, controllers: frozenset[str]) -> None:
    """Have the cgroups below obey; the processes of `base` itself go to one below if they are in the way."""
    control = os.path.join(base, "cgroup.subtree_control")
    missing = controllers - frozenset(_read(control).split())
    if not missing:
        return
    words = " ".join(f"+{name}" for name in sorted(missing))
    try:
        _write(control, words)
    except OSError as error:
        if error.errno != errno.EBUSY or not may_move_all(base):
            raise
        move_all(base, os.path.join(base, WORKERS))
        _write(control, words)


def may_move_all(base: str) -> bool:
    """Whether all processes there are ours to move: of our unit, or of a container made for us."""
    return is_delegated(base) or 1 in (os.getpid(), os.getppid())


def move_all(base: str, leaf: str) -> None:
    os.makedirs(leaf, exist_ok=True)
    for _ in range(10):  # what is forked meanwhile comes up in the next round
        pids = _read(os.path.join(base, "cgroup.procs")).split()
        if not pids:
            return
        for pid in pids:
            try:
                _write(os.path.join(leaf, "cgroup.procs"), pid)
            except ProcessLookupError:
                pass


def is_delegated(path: str) -> bool:
    for mark in _MARKS:
        try:
            if os.getxattr(path, mark) == b"1":
                return True
        except OSError:
            pass
    return False


def is_root(path: str) -> bool:
    """Of the machine, or of what a container sees."""
    return os.path.ismount(path)


def _base(own: str) -> str:
    """Where to divide: our own cgroup, or the one above if we are in a place made for the processes."""
    above = os.path.dirname(own)
    if os.path.basename(own) == WORKERS or (not is_delegated(own) and is_delegated(above)):
        return above  # the second is DelegateSubgroup= of systemd
    return own


def _mounts(proc: str) -> list[tuple[str, str]]:
    found = []
    for line in _read_or_nothing(f"{proc}/self/mountinfo").splitlines():
        fields = line.split(" ")
        if "-" in fields[6:] and fields[fields.index("-", 6) + 1] == "cgroup2":
            found.append((_plain(fields[3]), _plain(fields[4])))
    return found


def _plain(text: str) -> str:
    return text.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()


def _read_or_nothing(path: str) -> str:
    try:
        return _read(path)
    except OSError:
        return ""


def _write(path: str, text: str) -> None:
    # Never made by us: a file that the kernel does not offer is an error.
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_TRUNC)
    try:
        os.write(fd, text.encode())
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None
    finally:
        os.close(fd)

"""Reading /proc: the fields of a process, and the claim tokens in the environments of all.

What follows from them is left to linux.py.
"""

from __future__ import annotations

import os

from queuectl.system.anywhere import TOKEN_VARIABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_TOKEN_PREFIX = os.fsencode(TOKEN_VARIABLE) + b"="

# Positions in /proc/PID/stat counted from the state, which proc(5) numbers 3.
_STATE, _THREADS, _START = 0, 17, 19


class Stat:
    """What one line of /proc/PID/stat says."""

    __slots__ = ("living", "start")

    def __init__(self, line: bytes) -> None:
        # The name in parentheses may hold blanks and parentheses itself; no later field does.
        fields = line[line.rindex(b")") + 1 :].split()
        self.start = fields[_START].decode("ascii")
        # A process whose first thread has ended looks like a zombie while its others run on.
        self.living = fields[_STATE] not in (b"Z", b"X") or int(fields[_THREADS]) > 1


def stat(pid: int | str) -> Stat | None:
    """The process as /proc shows it; None if it is gone or hidden from us."""
    line = _read(pid, "stat")
    return Stat(line) if line else None


def is_living(pid: int) -> bool:
    """Whether /proc shows the process, and not only what is left of it to be reaped."""
    seen = stat(pid)
    return seen is not None and seen.living


def carried_tokens() -> Iterator[tuple[int, list[bytes]]]:
    """Every other process with the claim tokens in its environment; some come twice."""
    own = str(os.getpid())
    blank = []
    for name in os.listdir("/proc"):
        if name.isdigit() and name != own:
            environment = _read(name, "environ")
            if environment == b"":
                blank.append(name)
            yield int(name), _tokens_in(environment)
    # In the middle of an exec a process has no environment for an instant: look once more.
    for name in blank:
        yield int(name), _tokens_in(_read(name, "environ"))


def tokens_of(pid: int) -> list[bytes]:
    return _tokens_in(_read(pid, "environ"))


def pid_namespace() -> str:
    """Our pid namespace; empty if /proc shows another one, where our pids mean nothing."""
    try:
        if os.readlink("/proc/self") != str(os.getpid()):
            return ""
        return str(os.stat("/proc/self/ns/pid").st_ino)
    except FileNotFoundError:
        return ""


def _tokens_in(environment: bytes | None) -> list[bytes]:
    if not environment or _TOKEN_PREFIX not in environment:
        return []
    size = len(_TOKEN_PREFIX)
    return [e[size:] for e in environment.split(b"\0") if e.startswith(_TOKEN_PREFIX)]


def _read(pid: int | str, name: str) -> bytes | None:
    """A file of the process; None if the process is gone or keeps it from us."""
    try:
        with open(f"/proc/{pid}/{name}", "rb", buffering=0) as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None

"""Starting a process in a group of its own: by the quickest way that this Python has.

`ForkExec` is the call under `subprocess.Popen`, without what Popen does around it: 45 µs of our time a start,
against 108 for `os.posix_spawn` (docs/adr/0012). It is not a public one, so it is used only in the versions
whose signature is known; `PosixSpawn` does the same everywhere else and is tested as well.
"""

from __future__ import annotations

import mmap
import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from queuectl.worker.launcher import Launch

    class Spawner(Protocol):
        """Starts a program, stdin its own or our null device.

        OSError names the program, CannotEnter the directory.
        """

        def spawn(self, launch: Launch, cwd: str) -> int: ...

        def rest(self, home: str) -> None: ...

        def close(self) -> None: ...


_MESSAGE = 4096  # bytes: more than a child has to say about why it cannot start
_KNOWN_VERSIONS = ((3, 11), (3, 12), (3, 13))

# What Python ignores would be ignored in the command too: `yes | head` would never end.
_RESET_SIGNALS = (signal.SIGPIPE, signal.SIGXFSZ)


class CannotEnter(OSError):
    """The directory in which a command is to run, not its program, is missing or closed to us."""


class CannotStart(Exception):
    """The command must not be started as things are; its own fault, or that of what it asks for."""


def make_spawner() -> Spawner:
    if (
        sys.platform == "linux"  # where it is a vfork, on which ForkExec relies
        and sys.version_info[:2] in _KNOWN_VERSIONS
        and os.environ.get("QUEUECTL_PORTABLE") != "1"
    ):
        return ForkExec()
    return PosixSpawn()


class ForkExec:
    """vfork and exec; the child enters its directory itself and says through a pipe if it cannot start."""

    def __init__(self) -> None:
        import _posixsubprocess

        # The stubs know nothing of a missing preexec_fn.
        self._fork_exec: Callable[..., int] = _posixsubprocess.fork_exec
        self._null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        # One for all starts: vfork returns when the child has either begun its program or written here. Not a
        # pipe: to look into mapped memory costs no system call.
        self._errors_in = os.memfd_create("queuectl-start", os.MFD_CLOEXEC)
        os.ftruncate(self._errors_in, _MESSAGE)
        self._errors = mmap.mmap(self._errors_in, _MESSAGE, prot=mmap.PROT_READ)
        self._unused = os.dup(self._null)  # the child closes its copy of what it takes for our end of a pipe

    def spawn(self, launch: Launch, cwd: str) -> int:
        stdin = self._null if launch.stdin is None else launch.stdin
        # fmt: off
        pid = self._fork_exec(
            launch.argv, launch.candidates, False, launch.keep, cwd, launch.environment,
            stdin, -1, -1, launch.pipes.out, -1, launch.pipes.err, self._unused, self._errors_in,
            True, False, 0, None, None, None, -1, None, True,
        )
        # fmt: on
        if not self._errors[0]:
            return pid
        os.waitpid(pid, 0)
        _, number, stage = self._errors[:].rstrip(b"\0").split(b":", 2)
        os.lseek(self._errors_in, 0, os.SEEK_SET)
        os.pwrite(self._errors_in, bytes(_MESSAGE), 0)
        code = int(number, 16)
        if stage.startswith(b"noexec"):  # from 3.13 on "noexec:chdir"
            raise CannotEnter(code, os.strerror(code), cwd)
        raise OSError(code, os.strerror(code), launch.program)

    def rest(self, home: str) -> None:
        """We never leave our own directory."""

    def close(self) -> None:
        self._errors.close()
        for fd in (self._null, self._unused, self._errors_in):
            os.close(fd)


class PosixSpawn:
    """The public call. It cannot change the directory of the child, so we go there ourselves."""

    def __init__(self) -> None:
        self._null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        self._away = False

    def spawn(self, launch: Launch, cwd: str) -> int:
        # Nothing in this process uses a relative path. Each time, even for the same name: it may mean another
        # directory by now.
        try:
            os.chdir(cwd)
        except OSError as error:
            raise CannotEnter(error.errno, error.strerror, cwd) from None
        self._away = True
        spawn = os.posix_spawn if "/" in launch.program else os.posix_spawnp
        for fd in launch.keep:
            os.set_inheritable(fd, True)  # closed by whoever made it as soon as the child has it
        return spawn(
            launch.program,
            launch.argv,
            dict(entry.split(b"=", 1) for entry in launch.environment),
            file_actions=[
                (os.POSIX_SPAWN_DUP2, self._null if launch.stdin is None else launch.stdin, 0),
                (os.POSIX_SPAWN_DUP2, launch.pipes.out, 1),
                (os.POSIX_SPAWN_DUP2, launch.pipes.err, 2),
            ],
            setpgroup=0,
            setsigdef=_RESET_SIGNALS,
        )

    def rest(self, home: str) -> None:
        """Go back, so that an idle worker keeps no directory busy."""
        if self._away:
            self._away = False
            try:
                os.chdir(home)
            except OSError:
                os.chdir("/")  # it was removed meanwhile

    def close(self) -> None:
        os.close(self._null)


def candidates(program: str, environment: list[bytes]) -> tuple[bytes, ...]:
    """Where the program may be: as named, or in the directories of the command's own PATH."""
    name = os.fsencode(program)
    if b"/" in name:
        return (name,)
    path = os.fsencode(os.defpath)
    for entry in environment:
        if entry.startswith(b"PATH="):
            path = entry[5:]
    return tuple(os.path.join(directory, name) for directory in path.split(b":"))

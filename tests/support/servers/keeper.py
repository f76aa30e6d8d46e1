"""Holds one server process, so that it cannot outlive the tests, however they end.

A script of its own: keeper.py DIRECTORY UNTIL FAREWELL USER COMMAND…
It starts the command, prints its pid, and ends with it (exit code 0 or 1). When its stdin ends (or,
if UNTIL is not 0, the process of that pid), it ends the command by the signal FAREWELL and removes
the directory.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1
_PATIENCE = 10.0


def start(command: list[str], *, directory: str, user: str) -> subprocess.Popen[bytes]:
    kept = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
    with open(os.path.join(directory, "server.log"), "ab") as log:
        return subprocess.Popen(
            command,
            cwd=directory,
            env={name: os.environ[name] for name in kept if name in os.environ}
            | {"LC_ALL": "C", "TZ": "UTC"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            preexec_fn=die_with_parent(),  # noqa: PLW1509 - this process has one thread
            user=user or None,
            group=pwd.getpwnam(user).pw_gid if user else None,
            extra_groups=[] if user else None,
        )


def die_with_parent() -> Callable[[], object] | None:
    """Should the keeper itself be killed, the kernel ends the server; only Linux can do that."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0)


def lifeline(until: int) -> int | None:
    """A descriptor that becomes readable at the end of the tests; None where pids have none."""
    if not until:
        return sys.stdin.fileno()
    try:
        return os.pidfd_open(until)
    except ProcessLookupError:
        return os.open(os.devnull, os.O_RDONLY)  # readable at once
    except (AttributeError, OSError):
        return None


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def tests_are_over(server: subprocess.Popen[bytes], until: int) -> bool:
    """Wait; False if the server ended first."""
    # Before the first look at the server: a SIGCHLD after it is in the pipe, one before it is seen.
    hears, tells = os.pipe()
    os.set_blocking(tells, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(tells)
    line = lifeline(until)
    while server.poll() is None:
        watched = [hears] if line is None else [hears, line]
        ready, _, _ = select.select(watched, [], [], 0.5 if line is None else None)
        if line in ready or (line is None and not is_there(until)):
            return True
        if hears in ready:
            os.read(hears, 4096)
    return False


def end(server: subprocess.Popen[bytes], farewell: int) -> None:
    server.send_signal(farewell)
    try:
        server.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def main() -> int:
    directory, until, farewell, user, *command = sys.argv[1:]
    try:
        server = start(command, directory=directory, user=user)
    except (OSError, subprocess.SubprocessError, KeyError) as error:
        print(f"cannot start {command[0]}: {error}", flush=True)
        return 1
    print(server.pid, flush=True)
    if tests_are_over(server, int(until)):
        end(server, int(farewell))
        shutil.rmtree(directory, ignore_errors=True)
    return 0 if server.returncode == 0 else 1


if __name__ == "__main__":
    sys.exit(main())

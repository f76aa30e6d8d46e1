"""`queuectl` as a process that starts in no time: forked from one that has imported everything already.

To import the dashboard takes half a second, and hundreds of tests want one of their own. A process started
here is as real as any, but for two things: /proc shows the command line and the environment of where it came
from, and failpoints, which are read when the program is imported, are not armed.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NoReturn

_ROOT = Path(__file__).resolve().parents[2]


class Started:
    """What the tests use of `subprocess.Popen`."""

    def __init__(self, told: int, stdout: int) -> None:
        self._told = told  # its number first, its exit code when it has ended
        self.pid = int(self._hear(30))
        self.stdout = open(stdout, "rb", buffering=0)  # noqa: SIM115
        self.returncode: int | None = None

    def poll(self) -> int | None:
        return self._ended(0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(["queuectl"], timeout or 0)
        return code

    def send_signal(self, sig: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, sig)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _ended(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._told], [], [], timeout)[0]:
            self.returncode = int(self._hear(1))
            os.close(self._told)
        return self.returncode

    def _hear(self, timeout: float) -> str:
        line = b""
        while not line.endswith(b"\n"):
            ready = select.select([self._told], [], [], timeout)[0]
            more = os.read(self._told, 1) if ready else b""
            if not more:
                raise AssertionError(f"the process said {line!r} and no more")
            line += more
        return line.decode()


def start(words: Sequence[str], *, env: Mapping[str, str], cwd: Path, stderr: int) -> Started:
    """`queuectl WORDS` without stdin; its stdout can be read."""
    stdout, write_stdout = os.pipe()
    told, tell = os.pipe()
    request = json.dumps([list(words), dict(env), str(cwd)]).encode()
    socket.send_fds(_source(), [len(request).to_bytes(4, "big")], [write_stdout, stderr, tell])
    _source().sendall(request)
    os.close(write_stdout)
    os.close(tell)
    return Started(told, stdout)


@cache
def _source() -> socket.socket:
    """The way to the process from which all are forked; it ends with this one."""
    ours, its = socket.socketpair()
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.fork_server", str(its.fileno())],
        cwd=_ROOT,
        pass_fds=[its.fileno()],
    )
    its.close()
    atexit.register(process.wait)
    atexit.register(ours.close)  # the last registered is the first that is called
    return ours


def _serve(requests: socket.socket) -> None:
    """Returns in a process that has become somebody: `queuectl` is to be run in it."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        head, fds, _, _ = socket.recv_fds(requests, 4, 3)
        if not head:
            sys.exit()
        body = requests.recv(int.from_bytes(head, "big"), socket.MSG_WAITALL)
        if os.fork() == 0:
            _watch(fds[2])
            words, env, cwd = json.loads(body)
            _become(words, env, cwd, fds)
            return
        for fd in fds:
            os.close(fd)


def _watch(tell: int) -> None:
    """Returns in a child; its parent tells its number and its exit code, and ends with it."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    child = os.fork()
    if child == 0:
        return
    os.write(tell, f"{child}\n".encode())
    _, status = os.waitpid(child, 0)
    os.write(tell, f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def _become(words: list[str], env: dict[str, str], cwd: str, fds: list[int]) -> None:
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(fds[0], 1)
    os.dup2(fds[1], 2)
    os.closerange(3, 256)
    # The old ones know what was there before, for instance a file in which one can seek.
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", buffering=1)  # noqa: SIM115
    sys.argv = ["queuectl", *words]


def _main() -> NoReturn:
    from queuectl.cli.commands import dashboard  # noqa: F401  # and all that it needs
    from queuectl.cli.main import run
    from queuectl.web import app, server  # noqa: F401

    requests = socket.socket(fileno=int(sys.argv[1]))
    _serve(requests)
    requests.detach()  # closed with all the others
    run()


if __name__ == "__main__":
    _main()

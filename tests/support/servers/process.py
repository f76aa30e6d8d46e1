"""One run of a server under its keeper: its user, directory and port, its pid, its end.

What the server is, and what its data are, is left to private.py.
"""

from __future__ import annotations

import errno
import os
import pwd
import random
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil

from queuectl.testing import wait_until

_KEEPER = Path(__file__).with_name("keeper.py")

# Below the ports that the kernel gives to clients (from 32768 on). A client that calls a stopped
# server on one of those again and again may be given that very port, and so reach itself.
_PORTS = range(15_000, 32_000)


class ServerFailed(Exception):
    """A server that is installed, and yet does not start or end."""


class KeptProcess:
    """Runs from its making on. The keeper ends with the server, so the one stands for the other."""

    def __init__(
        self, command: list[str], *, directory: Path, user: str, farewell: signal.Signals, until: int = 0
    ) -> None:
        self._keeper = subprocess.Popen(
            [
                *(sys.executable, "-I", "-S", str(_KEEPER)),
                *(str(directory), str(until), str(int(farewell)), user, *command),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl+C is for the tests, which end the server in their own time
        )
        assert self._keeper.stdout
        said = self._keeper.stdout.readline().decode().strip()
        if not said.isdigit():
            self._left()
            raise ServerFailed(said or "the keeper of the server died")
        self.pid = int(said)

    @property
    def alive(self) -> bool:
        return self._keeper.poll() is None

    def succeeded(self, *, timeout: float) -> bool:
        """Wait for a program that ends by itself: did it end well?"""
        self._left(timeout)
        return self._keeper.returncode == 0

    def end(self, signum: signal.Signals, *, timeout: float = 60) -> None:
        """Signal the server and wait until it is gone."""
        if self.alive:
            try:
                os.kill(self.pid, signum)
            except ProcessLookupError:
                pass  # its keeper is about to follow
        self._left(timeout)

    def kill(self) -> None:
        """SIGKILL for the server and all its children at once, as when the machine dies."""
        children: list[psutil.Process] = []
        try:
            server = psutil.Process(self.pid)
            if self.alive:
                server.suspend()  # so that it starts no child that is not counted
                children = server.children(recursive=True)
        except psutil.NoSuchProcess:
            pass
        self.end(signal.SIGKILL)
        for child in children:
            try:
                child.kill()
            except psutil.NoSuchProcess:
                pass
        wait_until(lambda: all(is_gone(child) for child in children), what="the server's children to end")

    def _left(self, timeout: float = 60) -> None:
        try:
            self._keeper.wait(timeout)
        except subprocess.TimeoutExpired:
            raise ServerFailed(f"the server (pid {self.pid}) did not end within {timeout:g} s") from None
        assert self._keeper.stdin
        assert self._keeper.stdout
        self._keeper.stdin.close()
        self._keeper.stdout.close()


def is_gone(process: psutil.Process) -> bool:
    try:
        # A zombie holds nothing any more; whether someone reaps it is not our affair.
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


# --- where it lives: a user who is not root, a directory that this user can reach, a port -----------------


def server_user(wished: str) -> str:
    """Whom the server runs as; empty for ourselves. Servers refuse to run as root."""
    if os.geteuid() != 0:
        return ""
    known = {entry.pw_name for entry in pwd.getpwall()}
    return wished if wished in known else "nobody"


def temporary_root() -> Path:
    """The folder for temporary files, or /tmp if only root may enter the configured one."""
    configured = Path(tempfile.gettempdir()).resolve()
    if os.geteuid() != 0 or all(path.stat().st_mode & 0o001 for path in (configured, *configured.parents)):
        return configured
    return Path("/tmp")


def make_directory(name: str) -> Path:
    return Path(tempfile.mkdtemp(prefix=f"queuectl-{name}-", dir=temporary_root()))


def give(path: Path, *, user: str) -> None:
    """Let the server's user own it."""
    if user:
        entry = pwd.getpwnam(user)
        os.chown(path, entry.pw_uid, entry.pw_gid)


def free_port(addresses: list[str]) -> int:
    """A port that nobody has on these addresses. It may be gone when it is used: then ask again."""
    for port in random.sample(_PORTS, 200):
        if all(_is_free(address, port) for address in addresses):
            return port
    raise OSError(f"no free port on {', '.join(addresses)}")


def _is_free(address: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as probe:
        try:
            probe.bind(("" if address == "*" else address, port))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise  # the address itself is wrong: no port will do
            return False
    return True

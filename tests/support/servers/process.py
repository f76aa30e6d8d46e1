"""One run of a server under its keeper: its pid, its end.

What the server is, and where its data are, is left to private.py.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil

from queuectl.testing import wait_until

_KEEPER = Path(__file__).with_name("keeper.py")


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

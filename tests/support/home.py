"""A private installation for a test: a home of its own, real processes, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from queuectl import Queue
from queuectl.paths import Location, locate
from queuectl.testing import wait_until
from tests.support import processes
from tests.support.counts import check_counts


class Home:
    """`home.q("status")` runs the real command; `home.start()` starts real workers."""

    def __init__(self, home: Path, *, portable: bool = False, url: str | None = None) -> None:
        self.path = home
        self.url = url  # of a server; None: the file in the home
        self.work = home.parent / "work"
        self.work.mkdir(exist_ok=True)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("QUEUECTL_")}
        self.env["QUEUECTL_HOME"] = str(home)
        if url:
            self.env["QUEUECTL_DB"] = url
        if portable or os.environ.get("QUEUECTL_PORTABLE") == "1":
            self.env["QUEUECTL_PORTABLE"] = "1"
        self._foreground: list[subprocess.Popen[bytes]] = []

    def q(
        self, *args: str, env: dict[str, str] | None = None, input: str | None = None, timeout: float = 60
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "queuectl", *args],
            env={**self.env, **(env or {})},
            cwd=self.work,
            input=input,
            stdin=subprocess.DEVNULL if input is None else None,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def popen(self, *args: str, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
        """A command that is watched while it runs."""
        return subprocess.Popen(
            [sys.executable, "-m", "queuectl", *args],
            env={**self.env, **(env or {})},
            cwd=self.work,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ok(self, *args: str, env: dict[str, str] | None = None, input: str | None = None) -> str:
        """Run a command that must succeed; returns its stdout."""
        result = self.q(*args, env=env, input=input)
        assert result.returncode == 0, (args, result.returncode, result.stdout, result.stderr)
        return result.stdout

    def queue(self) -> Queue:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("QUEUECTL_HOME", str(self.path))
            return Queue.open(self.address)

    @property
    def address(self) -> str:
        return self.url or str(self.path / "queue.db")

    @property
    def location(self) -> Location:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("QUEUECTL_HOME", str(self.path))
            return locate(self.address)

    def configure(self, **values: object) -> None:
        with self.queue() as queue:
            for key, value in values.items():
                queue.set_config(key, str(value))

    def start(self, count: int = 1, concurrency: int = 1, env: dict[str, str] | None = None) -> None:
        self.ok("worker", "start", "--count", str(count), "--concurrency", str(concurrency), env=env)

    def supervise(self, concurrency: int = 1, env: dict[str, str] | None = None) -> None:
        """What `start` leaves behind, without that command, which would cost a process and wait for it."""
        words = ["worker", "supervise", "--count", "1", "--concurrency", str(concurrency)]
        self._foreground.append(
            subprocess.Popen(
                [sys.executable, "-m", "queuectl", *words],
                env={**self.env, **(env or {})},
                cwd=self.work,
                stdin=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )

    def foreground(self, *args: str, env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", "queuectl", "worker", "start", "--foreground", *args],
            env={**self.env, **(env or {})},
            cwd=self.work,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        self._foreground.append(process)
        return process

    def state(self, id: str) -> str:
        with self.queue() as queue:
            return queue.get(id).state

    def wait_for(self, id: str, *wanted: str, timeout: float = 30) -> None:
        with self.queue() as queue:
            wait_until(lambda: queue.get(id).state in wanted, timeout=timeout, what=f"{id} to be {wanted}")

    def workers(self) -> list[int]:
        with self.queue() as queue:
            return [worker.pid for worker in queue.store.workers()]

    def supervisors(self) -> list[int]:
        run = self.location.run_dir
        names = os.listdir(run) if os.path.isdir(run) else []
        return [int(name.partition("-")[2]) for name in names if name.startswith("supervisor-")]

    def freeze(self, pid: int) -> None:
        """SIGSTOP, but not in the middle of a transaction."""
        with self.queue() as queue:
            processes.freeze(pid, queue)

    def pids(self) -> list[int]:
        """Every living process that carries this home in its environment: workers, and their commands."""
        mark = f"QUEUECTL_HOME={self.path}".encode()
        found = []
        for name in os.listdir("/proc"):
            if not name.isdigit() or int(name) == os.getpid():
                continue
            try:
                environ = Path("/proc", name, "environ").read_bytes()
                state = Path("/proc", name, "stat").read_text().rpartition(")")[2].split()[0]
            except (OSError, ValueError):
                continue
            if mark in environ.split(b"\0") and state not in "ZX":
                found.append(int(name))
        return found

    def close(self) -> list[int]:
        """Kill everything; returns what there was."""
        found = self._kill_all()
        # A supervisor may have started another worker before it was killed itself.
        wait_until(lambda: not self._kill_all(), what="the processes of the home to end")
        for process in self._foreground:
            process.communicate()
        return found

    def _kill_all(self) -> list[int]:
        found = self.pids()
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return found


def path_with_queuectl(directory: Path, *options: str) -> str:
    """The PATH, but `queuectl` is found in bin/ of this directory; `options` are the interpreter's."""
    script = directory / "bin" / "queuectl"
    script.parent.mkdir()
    words = " ".join((f'"{sys.executable}"', *options, "-P", "-m", "queuectl"))
    script.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    script.chmod(0o755)
    return f"{script.parent}{os.pathsep}{os.environ['PATH']}"


@contextmanager
def fresh_home(path: Path, *, url: str | None = None) -> Iterator[Home]:
    """A private installation. What it started is gone afterwards, and its store has counted right."""
    home = Home(path, url=url)
    yield home
    home.close()
    check_counts(home.location)

"""task-spooler. Each command is handed in by a process of its own, which waits for its turn."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.contestants.contestant import PATIENCE, SLOTS, Lost
from bench.contestants.gate import Gate
from bench.contestants.installing import DebianPackage, FromDebian, ask


class TaskSpooler(FromDebian):
    """Measured from the moment at which all commands are handed in to the end of the last one.

    Handing in is left out, to its advantage: it takes longer than running. Output is kept in files, as by
    default; the queue itself is only in memory.
    """

    name = "task-spooler"
    count = 500  # as many processes wait at once
    _package = DebianPackage("task-spooler", "tsp")

    @property
    def version(self) -> str:
        return ask([self._package.program, "-V"]).splitlines()[0].split(" - ")[0]

    def rate(self, command: str, count: int) -> float:
        with (
            tempfile.TemporaryDirectory(prefix="queuectl-bench-") as directory,
            self._server(Path(directory), count) as env,
            Gate(Path(directory) / "gate") as gate,
        ):
            self._tell(env, "sh", "-c", gate.command)
            for _ in range(count):
                self._tell(env, "sh", "-c", command)
            self._tell(env, "-S", str(SLOTS))
            gate.open()
            began = time.perf_counter()
            self._tell(env, "-w")
            seconds = time.perf_counter() - began
            self._check(env, count)
        return count / seconds

    @contextmanager
    def _server(self, directory: Path, count: int) -> Iterator[dict[str, str]]:
        """One of its own, with one slot, which the gate takes; it ends with the measurement."""
        limits = {"TS_SLOTS": "1", "TS_MAXFINISHED": str(count + 10), "TS_MAXCONN": str(count + 100)}
        env = os.environ | limits | {"TS_SOCKET": str(directory / "socket"), "TMPDIR": str(directory)}
        self._tell(env, "-S", "1")
        try:
            yield env
        finally:
            self._tell(env, "-K")

    def _check(self, env: dict[str, str], count: int) -> None:
        deadline = time.monotonic() + PATIENCE
        finished = 0
        # The last one handed in has ended; the one beside it may take a moment more.
        while time.monotonic() < deadline:
            rows = [line.split() for line in self._tell(env, "-l").splitlines()[1:]]
            finished = sum(row[1] == "finished" and row[3] == "0" for row in rows)
            if all(row[1] == "finished" for row in rows):
                break
        if finished != count + 1:  # with the gate
            raise Lost(f"{finished - 1} of {count} commands finished")

    def _tell(self, env: dict[str, str], *args: str) -> str:
        try:
            return subprocess.run(
                [self._package.program, *args],
                env=env,
                check=True,
                stdout=subprocess.PIPE,
                text=True,
                timeout=PATIENCE,
            ).stdout
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            raise Lost(str(error)) from error

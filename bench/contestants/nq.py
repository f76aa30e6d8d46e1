"""nq. A directory is a queue without a server; its commands run strictly one after the other."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from bench.contestants.contestant import PATIENCE, SLOTS, Lost
from bench.contestants.gate import Gate
from bench.contestants.installing import DebianPackage, FromDebian

_WENT_WELL = b"[exited with status 0.]"


class Nq(FromDebian):
    """Two directories stand for two slots, with half of the commands each.

    Measured from the moment at which all commands are handed in to the end of the last one. Handing in is
    left out, to its advantage. Output is kept in files, as by default.
    """

    name = "nq"
    count = 200  # each waiting command looks at all those before it, so that many are slower than few
    _package = DebianPackage("nq", "nq")

    @property
    def version(self) -> str:
        return f"nq {self._package.version()}"

    def rate(self, command: str, count: int) -> float:
        with tempfile.TemporaryDirectory(prefix="queuectl-bench-") as directory, ExitStack() as gates:
            queues = [Path(directory) / str(slot) for slot in range(SLOTS)]
            opened = [gates.enter_context(Gate(Path(directory) / f"gate{slot}")) for slot in range(SLOTS)]
            for queue, gate in zip(queues, opened, strict=True):
                queue.mkdir()
                self._tell(queue, "-q", "sh", "-c", gate.command)
            for number in range(count):
                self._tell(queues[number % SLOTS], "-q", "sh", "-c", command)
            for gate in opened:
                gate.open()
            began = time.perf_counter()
            for queue in queues:
                self._tell(queue, "-w")
            seconds = time.perf_counter() - began
            done = sum(_WENT_WELL in log.read_bytes() for queue in queues for log in queue.iterdir())
        if done != count + SLOTS:  # with the gates
            raise Lost(f"{done - SLOTS} of {count} commands have run")
        return count / seconds

    def _tell(self, queue: Path, *args: str) -> None:
        try:
            subprocess.run(
                [self._package.program, *args],
                env=os.environ | {"NQDIR": str(queue)},
                check=True,
                stdout=subprocess.DEVNULL,
                timeout=PATIENCE,
            )
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            raise Lost(str(error)) from error

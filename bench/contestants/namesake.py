"""The `queuectl` that is on PyPI: another project with our name, here with a home of its own."""

from __future__ import annotations

import json
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from bench.contestants.contestant import PATIENCE, SLOTS, Lost, steady_rate
from bench.contestants.installing import Environment, FromPyPI, ask, surroundings
from bench.contestants.starting import stop

_DONE = b"completed successfully"


class Namesake(FromPyPI):
    """Its SQLite file, 2 worker processes, output kept.

    Measured by what its workers print, from the end of the first tenth of the commands to the end of the last
    one. Handing in is left out, to its advantage.
    """

    name = "queuectl of PyPI"
    count = 150
    _environment = Environment("namesake", "queuectl==2.0.0")

    @property
    def version(self) -> str:
        return f"queuectl {self._environment.version('queuectl')} of PyPI"

    def rate(self, command: str, count: int) -> float:
        with tempfile.TemporaryDirectory(prefix="queuectl-bench-") as home:
            env = surroundings() | {"HOME": home, "TMPDIR": home, "PYTHONUNBUFFERED": "1"}
            jobs = Path(home) / "jobs.json"
            jobs.write_text(json.dumps([{"command": command}] * count))
            ask([self._environment.program("queuectl"), "batch", str(jobs)], env=env)
            return steady_rate(self._run(env, count))

    def _run(self, env: dict[str, str], count: int) -> list[float]:
        """When each command was said to be done."""
        ended: list[float] = []
        workers = subprocess.Popen(
            [self._environment.program("queuectl"), "worker", "start", "--count", str(SLOTS)],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        patience = threading.Timer(PATIENCE, stop, [workers])
        patience.start()
        try:
            assert workers.stdout is not None
            for line in workers.stdout:
                # Two workers write to the same pipe, so a line may be two.
                ended += [time.perf_counter()] * line.count(_DONE)
                if len(ended) >= count:
                    return ended
            raise Lost(f"{len(ended)} of {count} commands have run")
        finally:
            patience.cancel()
            stop(workers)
            workers.communicate()

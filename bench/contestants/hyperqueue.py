"""HyperQueue: a server and a worker in Rust, started by its Python package."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from bench.contestants.contestant import SLOTS
from bench.contestants.installing import Environment, FromPyPI, ask, surroundings

_SCRIPT = Path(__file__).parent / "inside" / "for_hyperqueue.py"


class HyperQueue(FromPyPI):
    """One job with a task for each command, the quickest way to hand them in; one worker with 2 CPUs.

    Measured from handing in to its last report before the end: it reports once a second, which would count
    for half a second otherwise. Output is thrown away and there is no journal, both to its advantage.
    """

    name = "HyperQueue"
    count = 1000  # enough for two reports
    _environment = Environment("hyperqueue", "hyperqueue>=0.27")

    @property
    def version(self) -> str:
        return f"HyperQueue {self._environment.version('hyperqueue')}"

    def rate(self, command: str, count: int) -> float:
        wanted = {"command": command, "count": count, "cores": SLOTS}
        with tempfile.TemporaryDirectory(prefix="queuectl-bench-") as directory:
            env = surroundings() | {"TMPDIR": directory}
            python = self._environment.program("python")
            said = ask([python, str(_SCRIPT)], given=json.dumps(wanted), cwd=Path(directory), env=env)
        return float(said.splitlines()[-1])  # after what the server tells of itself

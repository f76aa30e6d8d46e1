"""One `queuectl enqueue` against bare imports, and bulk enqueue from Python and from a file."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

from bench.home import PYTHON, Home, fresh_home
from bench.table import Result, median

# The installed command, as a shell loop would call it.
_INSTALLED = Path(PYTHON).with_name("queuectl")
SCRIPT = [str(_INSTALLED)] if _INSTALLED.exists() else [PYTHON, "-m", "queuectl"]


def _seconds(command: list[str], home: Home) -> float:
    began = time.perf_counter()
    subprocess.run(command, env=home.env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - began


def one(*, rounds: int = 25) -> Result:
    with fresh_home() as home:
        home.queuectl("enqueue", "true")
        ours: list[float] = []
        theirs: list[float] = []
        for _ in range(rounds):
            theirs.append(_seconds([PYTHON, "-c", "import apsw, json"], home) * 1000)
            ours.append(_seconds([*SCRIPT, "enqueue", "echo hello"], home) * 1000)
    ratio = median(ours) / median(theirs)
    return Result(
        "one queuectl enqueue, wall time",
        ours,
        "ms",
        peer="import apsw, json",
        peer_values=theirs,
        ratio=ratio,
        target="≤ 2.0",
        good=ratio <= 2.0,
    )


def bulk_python(*, rounds: int = 5, count: int = 100_000) -> Result:
    rates = []
    for _ in range(rounds):
        with fresh_home() as home, home.queue() as queue:
            commands = [f"echo {number}" for number in range(count)]
            began = time.perf_counter()
            queue.enqueue_many(commands)
            rates.append(count / (time.perf_counter() - began))
    return Result("bulk enqueue, Python", rates, "jobs/s", target="≥ 100,000", good=median(rates) >= 100_000)


def bulk_file(*, lines: bool, rounds: int = 3, count: int = 100_000) -> Result:
    rates = []
    for _ in range(rounds):
        with fresh_home() as home:
            file = home.path / "jobs"
            with file.open("w") as out:
                for number in range(count):
                    text = f"echo {number}" if lines else json.dumps({"command": f"echo {number}"})
                    out.write(text + "\n")
            command = [*SCRIPT, "enqueue", "--file", str(file)]
            rates.append(count / _seconds(command + (["--lines"] if lines else []), home))
    name = "--lines" if lines else "JSON lines"
    return Result(
        f"bulk enqueue, command line, {name}",
        rates,
        "jobs/s",
        target="≥ 50,000",
        good=median(rates) >= 50_000,
    )


def measure() -> list[Result]:
    return [one(), bulk_python(), bulk_file(lines=False), bulk_file(lines=True)]

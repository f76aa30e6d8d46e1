"""One `queuectl enqueue` against bare imports and in a shell loop; many at once, their speed and memory."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

from bench.home import PYTHON, Home, fresh_home
from bench.places import lacking_room, not_measured
from bench.processes import peak_of
from bench.table import Result
from bench.targets import at_least, at_most, compared, quantile, stated

# The installed command, as a shell loop would call it.
_INSTALLED = Path(PYTHON).with_name("queuectl")
SCRIPT = [str(_INSTALLED)] if _INSTALLED.exists() else [PYTHON, "-m", "queuectl"]

# bash because it knows the time by itself: nothing else is started between two calls.
_LOOP = """
for ((n = 0; n < $1; n++)); do
    before=$EPOCHREALTIME
    "${@:2}" enqueue "echo $n" >/dev/null && echo "$before $EPOCHREALTIME"
done
"""
_BACKLOG = 20_000  # more than the workers can do meanwhile
_BYTES_A_LINE = 800  # the file, the copy that is staged, the log and the store

# For nine million lines more: SQLite maps the index of its log, 8 bytes for each page of the one transaction.
MB_MORE = 8.0


def _seconds(command: list[str], home: Home) -> float:
    began = time.perf_counter()
    subprocess.run(command, env=home.env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - began


def one(*, rounds: int) -> Result:
    ours: list[float] = []
    theirs: list[float] = []
    with fresh_home() as home:
        home.queuectl("enqueue", "true")
        for _ in range(rounds):
            theirs.append(_seconds([PYTHON, "-c", "import apsw, json"], home) * 1000)
            ours.append(_seconds([*SCRIPT, "enqueue", "echo hello"], home) * 1000)
    return compared(
        "one queuectl enqueue, wall time", ours, "ms", peer="import apsw, json", peer_values=theirs, most=1.8
    )


def in_a_loop(*, count: int) -> list[Result]:
    """One after the other by bash, each timed there, while two workers run what there is."""
    with fresh_home() as home, home.queue() as queue:
        queue.enqueue_many(["sleep 0.02"] * _BACKLOG)
        with home.workers(count=2, concurrency=2):
            done = subprocess.run(
                ["bash", "-c", _LOOP, "loop", str(count), *SCRIPT],
                env=home.env,
                check=False,
                text=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,  # errors go where ours go
            )
    spans = [line.split() for line in done.stdout.splitlines()]
    times = [(float(after) - float(before)) * 1000 for before, after in spans]
    failed = count - len(times)
    what = f"{count:,} × queuectl enqueue in a bash loop beside 2 workers"
    return [
        Result(f"{what}: errors", [failed], "", target="0", good=not failed),
        stated("… median", [quantile(times, 0.5)], "ms"),
        compared(
            "… p99 over the median",
            [quantile(times, 0.99)],
            "ms",
            peer="median",
            peer_values=[quantile(times, 0.5)],
            most=3,
        ),
    ]


def bulk_python(*, rounds: int, count: int) -> Result:
    rates = []
    for _ in range(rounds):
        with fresh_home() as home, home.queue() as queue:
            commands = [f"echo {number}" for number in range(count)]
            began = time.perf_counter()
            queue.enqueue_many(commands)
            rates.append(count / (time.perf_counter() - began))
    return at_least(f"bulk enqueue, Python, {count:,} jobs", rates, "jobs/s", 200_000)


def bulk_file(*, lines: bool, rounds: int, count: int) -> Result:
    """The whole command, with the start of Python."""
    rates = []
    for _ in range(rounds):
        with fresh_home() as home:
            rates.append(count / _seconds(_from_file(home, count, lines=lines), home))
    name = "--lines" if lines else "JSON lines"
    what = f"bulk enqueue, command line, {name}, {count:,} jobs"
    return at_least(what, rates, "jobs/s", 120_000 if lines else 80_000)


def memory(*, lines: int) -> list[Result]:
    """What `enqueue --file` needs at most, for so many lines and for a tenth of them."""
    what = f"memory of enqueue --file, {lines:,} lines"
    lacking = lacking_room(lines * _BYTES_A_LINE)
    if lacking:
        return [not_measured(what, lacking)]
    peaks = []
    for count in (lines // 10, lines):
        with fresh_home() as home:
            peaks.append(peak_of(_from_file(home, count, lines=True), home.env))
    return [
        stated(what, peaks[1:], "MB"),
        at_most(f"… more than for {lines // 10:,}", [max(peaks[1] - peaks[0], 0)], "MB", MB_MORE),
    ]


def _from_file(home: Home, count: int, *, lines: bool) -> list[str]:
    file = home.path / "jobs"
    with file.open("w") as out:
        for number in range(count):
            out.write((f"echo {number}" if lines else json.dumps({"command": f"echo {number}"})) + "\n")
    return [*SCRIPT, "enqueue", "--file", str(file), *(["--lines"] if lines else [])]


def measure(*, quick: bool = False) -> list[Result]:
    rounds, count = (2, 100_000) if quick else (5, 200_000)
    return [
        one(rounds=25 if quick else 51),
        *in_a_loop(count=60 if quick else 1_000),
        bulk_python(rounds=rounds, count=count),
        bulk_file(lines=False, rounds=rounds, count=count),
        bulk_file(lines=True, rounds=rounds, count=count),
        *memory(lines=1_000_000 if quick else 10_000_000),
    ]

"""How long a person waits for `status` and `list`: the use case alone, and the whole command."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from functools import partial

from bench.home import PYTHON
from bench.places import Place
from bench.table import Result
from bench.targets import at_most, stated
from queuectl.cli.listing import SCREENFUL
from queuectl.core.states import COMPLETED, PENDING
from queuectl.overview import Overview
from queuectl.queue import JobFilter, Queue

MOST_MS = 100
_TIMES = 5

_USE_CASES: dict[str, Callable[[Queue], object]] = {
    "status": lambda queue: Overview(queue, None),
    "list": lambda queue: (queue.list(limit=SCREENFUL), queue.store.count(JobFilter())),  # "50 of 10,000,000"
    "list --state completed": lambda queue: queue.list(filter=_in(COMPLETED), limit=SCREENFUL),
    "list --state completed --reverse": lambda queue: queue.list(
        filter=_in(COMPLETED), limit=SCREENFUL, descending=True
    ),
    "list --state pending": lambda queue: queue.list(filter=_in(PENDING), limit=SCREENFUL),
}
_COMMANDS = (["status"], ["list", "--limit", str(SCREENFUL)])


def _in(state: str) -> JobFilter:
    return JobFilter(states=(state,))


def use_cases(place: Place, size: int) -> list[Result]:
    """A page is what a terminal shows; `list` also tells how many there are in all."""
    results = []
    with place.queue() as queue:
        for name, look in _USE_CASES.items():
            times = [_milliseconds(partial(look, queue)) for _ in range(_TIMES)]
            results.append(at_most(f"{name} among {size:,} jobs on {place.engine}", times, "ms", MOST_MS))
            results[-1].size = size
    return results


def commands(place: Place, size: int) -> list[Result]:
    """With the start of Python."""
    results = []
    for words in _COMMANDS:
        times = [_milliseconds(partial(_run, place, words)) for _ in range(_TIMES)]
        what = f"{' '.join(words)} among {size:,} jobs on {place.engine}, the whole command"
        results.append(stated(what, times, "ms"))
        results[-1].size = size
    return results


def _run(place: Place, words: list[str]) -> None:
    command = [PYTHON, "-m", "queuectl", *words]
    subprocess.run(command, env=place.env, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def _milliseconds(look: Callable[[], object]) -> float:
    began = time.perf_counter()
    look()
    return (time.perf_counter() - began) * 1000

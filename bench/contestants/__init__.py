"""Who else runs commands from a queue: one module for each, all measured by the same few words.

How they are compared is left to bench.throughput.
"""

from __future__ import annotations

from bench.contestants.contestant import Contestant, Lost, Missing
from bench.contestants.dramatiq import Dramatiq
from bench.contestants.huey import Huey
from bench.contestants.hyperqueue import HyperQueue
from bench.contestants.namesake import Namesake
from bench.contestants.nq import Nq
from bench.contestants.parallel import Parallel, ParallelLogged
from bench.contestants.procrastinate import Procrastinate
from bench.contestants.rq import Rq
from bench.contestants.spooler import TaskSpooler
from bench.contestants.xargs import Xargs

__all__ = ["EVERYONE", "FLOOR", "NATIVE", "PYTHON_QUEUES", "Contestant", "Lost", "Missing", "versions"]

FLOOR = Xargs()
NATIVE: tuple[Contestant, ...] = (TaskSpooler(), Nq(), HyperQueue(), Parallel(), ParallelLogged())
PYTHON_QUEUES: tuple[Contestant, ...] = (Huey(), Rq(), Dramatiq(), Procrastinate(), Namesake())
EVERYONE = (FLOOR, *NATIVE, *PYTHON_QUEUES)


def versions() -> dict[str, str]:
    """Of all that are installed; the others could not be measured."""
    return {contestant.name: _version(contestant) for contestant in EVERYONE if contestant.at_hand()}


def _version(contestant: Contestant) -> str:
    try:
        return contestant.version
    except Missing as error:
        return f"unknown: {error}"

"""How long it takes until work goes on after a death, a restart, a lost machine; and until a cancel works."""

from __future__ import annotations

import math
import multiprocessing
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass

from tests.support.machines import why_not
from tests.support.servers.binaries import installed

from proof.recovery_scenes import GRACE, SCENES, Times
from proof.verdict import Part

_AT_ONCE = 2  # scenes that use the processor; the others mostly wait
_LEASE, _LOOK = 30.0, 5.0  # seconds, by default: worker-lease, worker-heartbeat-interval


@dataclass(frozen=True)
class Bound:
    """What must hold for the times of this name. Of a busy machine only the middle says something."""

    middle: float
    longest: float


BOUNDS = {
    "worker killed, another beside it": Bound(1.0, _LEASE),
    "only worker killed": Bound(1.0, _LEASE),
    "all killed, from the next start on": Bound(2.0, _LEASE),
    "cancel, TERM obeyed": Bound(0.5, 5.0),
    "cancel, TERM ignored": Bound(GRACE + 0.5, GRACE + 5.0),
    "machine lost": Bound(_LEASE + _LOOK, _LEASE + _LOOK + 5.0),
    "machine back, from the start of its worker on": Bound(2.0, _LEASE),
    "server restarted": Bound(3.0, _LEASE),
}

_MANY = {
    "machine_lost": 8,
    "worker_killed": 50,
    "all_killed": 50,
    "cancelled": 50,
    "machine_back": 20,
    "server_restarted": 15,
}
_FEW = {"worker_killed": 2, "cancelled": 2}
_NEEDS_MACHINES = ("machine_lost", "machine_back")
_NEEDS_A_SERVER = ("machine_lost", "server_restarted")


def prove(*, full: bool) -> Part:
    part = Part("recovery")
    measure(part, _MANY if full else _FEW)
    return part


def measure(part: Part, samples: dict[str, int]) -> None:
    """The scenes, each so many times."""
    wanted = {name: count for name, count in samples.items() if not _lacks(part, name)}
    # Processes, since a scene changes the environment; started afresh, since it has threads of its own.
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(_AT_ONCE + 1, mp_context=fresh) as pool:
        scenes: list[Future[Times]] = [pool.submit(SCENES[name], count) for name, count in wanted.items()]
        for scene in scenes:
            part.times.update(scene.result())
    for name, times in part.times.items():
        _judge(part, name, times, full=samples is _MANY)


def _lacks(part: Part, name: str) -> bool:
    if name in _NEEDS_MACHINES and why_not():
        part.left_out.append(f"{name}: machines in namespaces need {why_not()}")
        return True
    if name in _NEEDS_A_SERVER and not installed("postgres"):
        part.left_out.append(f"{name}: PostgreSQL is not installed")
        return True
    return False


def _judge(part: Part, name: str, times: list[float], *, full: bool) -> None:
    bound = BOUNDS[name]
    ordered = sorted(times)
    figures = [share(ordered, 0.5), share(ordered, 0.99), ordered[-1]]
    told = " / ".join(f"{figure:.2f}" for figure in figures)
    limits = f"{bound.middle:g} / – / {bound.longest:g} s" if full else ""
    good = not full or (figures[0] <= bound.middle and figures[2] <= bound.longest)
    part.row(f"{name}: p50 / p99 / max of {len(times)}", f"{told} s", limits, good=good)


def share(ordered: list[float], of: float) -> float:
    """The lowest value that this share of them does not exceed."""
    return ordered[math.ceil(len(ordered) * of) - 1]

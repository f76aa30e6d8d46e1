"""One storm over each engine, and what they came to together."""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from tests.support.servers.binaries import NAMES, installed

from proof.checker import settle
from proof.storm.client import Task
from proof.storm.clients import Program
from proof.storm.judging import SAYINGS, judge
from proof.storm.plan import Plan
from proof.storm.scene import Scene, keep_staffed, scene
from proof.storm.troubles import troubles
from proof.verdict import Part
from queuectl.testing import wait_until

SEED = "QUEUECTL_PROOF_SEED"  # of the environment: to have the same storm again
_CLIENTS = 2
_THREADS = 8  # the troubles, and who staffs: all at once
_CALM_WITHIN = 240.0  # seconds: then all jobs have ended, or some are stuck
_SERVERS_PLAN = {
    "kills": 180,
    "stops": 18,
    "restarts": 12,
    "partitions": 12,
    "lease": 6.0,
    "workers": 2,
    "longest": 400,
}

# What the issue asks for, of all engines together.
LEAST = {"jobs": 50_000, "kills": 500, "stops": 50, "restarts": 20, "partitions": 20}


def full_plans(seed: int) -> list[Plan]:
    return [
        Plan("sqlite", jobs=20_500, kills=180, stops=20, seconds=150, longest=400, seed=seed),
        Plan("postgres", jobs=15_000, seconds=170, seed=seed, **_SERVERS_PLAN),  # type: ignore[arg-type]
        Plan("mysql", jobs=15_000, seconds=170, seed=seed, **_SERVERS_PLAN),  # type: ignore[arg-type]
    ]


def quick_plan(engine: str, seed: int) -> Plan:
    few = Plan(engine, jobs=200, kills=4, stops=1, seconds=4, longest=60, lease=2.0, workers=2, seed=seed)
    if engine == "sqlite":
        return few
    # A server takes its time, also to come back; and each installation on it needs workers of its own.
    return replace(few, restarts=1, partitions=1, seconds=10, lease=4.0, workers=1)


def prove(*, full: bool) -> Part:
    seed = int(os.environ.get(SEED) or random.randrange(1, 1_000_000))
    if full:
        return storms(full_plans(seed), LEAST)
    return storms([quick_plan("sqlite", seed)], {"jobs": 200, "kills": 4, "stops": 1})


def storms(plans: list[Plan], least: dict[str, int]) -> Part:
    """One after the other: what is shown of one engine does not depend on how busy the others are."""
    part = Part("storm")
    tally: Counter[str] = Counter()
    for plan in plans:
        if plan.engine in NAMES and not installed(plan.engine):
            part.left_out.append(f"the storm over {NAMES[plan.engine]}: it is not installed")
            continue
        tally.update(_storm(plan, part))
    part.row(f"seed of all choices ({SEED} sets it)", f"{plans[0].seed}")
    for what, demanded in least.items():
        part.demand(_WORDS[what], _reached(tally, what), demanded)
    for what in (*_TOLD, *SAYINGS.values()):
        if tally[what]:
            part.row(what, f"{tally[what]:,}")
    return part


_WORDS = {
    "jobs": "jobs acknowledged",
    "kills": "kill -9 of workers and supervisors",
    "stops": "workers stopped for longer than their lease, and continued",
    "restarts": "restarts of a server",
    "partitions": "partitions for longer than the lease, and healed",
}
_TOLD = (
    "kills of workers",
    "kills of supervisors",
    "kills of clients",
    "restarts, polite",
    "restarts, immediate",
    "restarts, kill -9",
    "partitions, silent",
    "partitions, refused",
    "dead, as they always fail",
    "runs again because of the storm",
    "runs to the end that did not count",
)


def _reached(tally: Counter[str], what: str) -> int:
    if what == "kills":
        return tally["kills of workers"] + tally["kills of supervisors"]
    return tally[what]


def _storm(plan: Plan, part: Part) -> Counter[str]:
    with (
        tempfile.TemporaryDirectory() as directory,
        scene(plan, Path(directory)) as it,
        ThreadPoolExecutor(_THREADS) as threads,
    ):
        began = time.monotonic()
        staff = threads.submit(keep_staffed, it)
        try:
            _blow(it, threads)
            raged = time.monotonic() - began
            _await_calm(it)
        finally:
            it.over.set()
            it.closing.set()
            staff.result()
        calm = time.monotonic() - began - raged
        left_over = _send_home(it)
        verdict = judge(it, left_over)
        it.tally["jobs"] = verdict.jobs
        part.verdict.add(verdict, NAMES.get(plan.engine, "SQLite"))
        part.row(
            f"on {NAMES.get(plan.engine, 'SQLite')}",
            f"{verdict.jobs:,} jobs in {raged:.0f} s of storm, all done {calm:.0f} s later",
        )
        return it.tally


def _blow(scene: Scene, threads: ThreadPoolExecutor) -> None:
    """Until there was enough of everything, or it takes too long."""
    began = time.monotonic()
    enough = scene.directory / "enough"
    scene.programs = [_program(scene, number, began) for number in range(_CLIENTS)]
    under_way = [threads.submit(trouble, scene) for trouble in troubles(scene)]
    try:
        while not _was_enough(scene, under_way) and time.monotonic() < began + scene.plan.longest:
            time.sleep(0.5)
    finally:
        scene.over.set()
        for trouble in under_way:
            trouble.exception()  # all of them are mended before anybody complains
        enough.touch()
        for program in scene.programs:
            program.close()
    for trouble in under_way:
        trouble.result()


def _await_calm(scene: Scene) -> None:
    try:
        settle(scene.near, timeout=_CALM_WITHIN)
    except AssertionError:
        pass  # which jobs are stuck is told by the checker


def _was_enough(scene: Scene, under_way: list[Future[None]]) -> bool:
    plan, tally = scene.plan, scene.tally
    return any(trouble.done() for trouble in under_way) or (
        _reached(tally, "kills") >= plan.kills
        and tally["stops"] >= plan.stops
        and tally["restarts"] >= plan.restarts
        and tally["partitions"] >= plan.partitions
        and all(program.done for program in scene.programs)
    )


def _program(scene: Scene, number: int, began: float) -> Program:
    """Where there is a way that can be cut, the second goes by it."""
    home = scene.homes[number % len(scene.homes)]
    task = Task(
        plan=scene.plan,
        name=f"client{number}",
        url=home.address,
        log=str(scene.log),
        acks=str(scene.directory / f"acks-{number}"),
        enough=str(scene.directory / "enough"),
        share=scene.plan.jobs // _CLIENTS,
        began=began,
    )
    return Program(task, home)


def _send_home(scene: Scene) -> int:
    """As an operator does it; how many processes are still there afterwards."""
    for home in scene.homes:
        home.q("worker", "stop", timeout=120)
    try:
        wait_until(lambda: not any(home.pids() for home in scene.homes), timeout=30, what="all to go")
    except AssertionError:
        return sum(len(home.pids()) for home in scene.homes)
    return 0

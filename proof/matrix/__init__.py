"""The crash matrix: a process dies at each point of its work, on every engine, again and again.

Each round acknowledges jobs, lets somebody die (or stumble) at the point, lets the others go on, and has the
checker compare what was acknowledged, what ran and what is stored. A round in which nobody came to the point
does not count, and is a fault of the matrix.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context

import pytest
from tests.support.engines import ENGINES
from tests.support.servers.binaries import VARIABLES
from tests.support.servers.found import base_url

from proof.matrix.points import ROUNDS, SCENES, exists_on, keeps_its_store, without_scene
from proof.matrix.stage import EXIT, KILL, RAISE, STOP, Missed, Stage
from proof.verdict import Part, Verdict

_AT_ONCE = 5  # lanes; most of a round is waiting
_WITHIN = 18 * 60.0  # seconds; after that each point has one round more, and no other
_LEAST_POINTS = 30
# One point of every kind is enough to see that the machinery works.
_QUICK = (
    ("sqlite", "run.pid_recorded"),
    ("sqlite", "enqueue.committed"),
    ("postgres", "complete.before_commit"),
    ("mysql", "reap.killed"),
)


@dataclass
class Lane:
    """What the rounds of one point on one engine have shown."""

    engine: str
    point: str
    rounds: int = 0
    actions: Counter[str] = field(default_factory=Counter)
    verdict: Verdict = field(default_factory=Verdict)
    missed: list[str] = field(default_factory=list)


def prove(*, full: bool, rounds: int | None = None) -> Part:
    """`rounds`: so many of each, to try it out."""
    part = Part("matrix")
    with _servers(part) as engines:
        if full:
            lanes = _all_lanes([(e, p) for p in SCENES for e in engines if exists_on(p, e)], rounds)
        else:
            lanes = [run_lane(engine, point, 1) for engine, point in _QUICK if engine in engines]
    for lane in lanes:
        part.verdict.add(lane.verdict, f"{lane.point} on {lane.engine}")
    _tell(part, lanes, full=full)
    return part


@contextmanager
def _servers(part: Part) -> Iterator[list[str]]:
    """The engines that can be had here. All lanes use the same servers: they are told by the environment."""
    found, told = [], {}
    for engine in ENGINES:
        try:
            url = None if engine == "sqlite" else base_url(engine)
        except (pytest.skip.Exception, pytest.fail.Exception) as error:
            part.left_out.append(f"{engine}: {error}")
            continue
        found.append(engine)
        if url is not None:
            told[VARIABLES[engine]] = url
    with pytest.MonkeyPatch.context() as patch:
        for name, value in told.items():
            patch.setenv(name, value)
        yield found


def _all_lanes(wanted: Sequence[tuple[str, str]], rounds: int | None) -> list[Lane]:
    # Not by fork: this process has connections to the servers.
    until = time.monotonic() + _WITHIN
    with ProcessPoolExecutor(_AT_ONCE, mp_context=get_context("spawn")) as pool:
        running = [pool.submit(run_lane, e, p, rounds or SCENES[p][1], until) for e, p in wanted]
        return [done.result() for done in as_completed(running)]


def run_lane(engine: str, point: str, rounds: int, until: float = float("inf")) -> Lane:
    """All rounds of one point on one engine; on one store, if the scene allows it.

    After the time `until` only one: that no point is left out is worth more than many rounds of some.
    """
    scene, _ = SCENES[point]
    lane = Lane(engine, point)
    stage: Stage | None = None
    for number in range(1, rounds + 1):
        stage = stage or Stage(engine)
        good = _round(stage, lane, number)
        last = number == rounds or time.monotonic() > until
        if last or not good or not keeps_its_store(scene):
            stage.close()
            stage = None
        if last:
            break
    return lane


def _round(stage: Stage, lane: Lane, number: int) -> bool:
    action = _action(number)
    stage.begin(number, lane.point, action, _action(number + 1))
    try:
        SCENES[lane.point][0](stage)
        verdict = stage.verdict()
    except Missed as missed:
        lane.missed.append(f"{lane.point} on {lane.engine}, {action}: {missed}")
        return False
    except Exception as error:  # whatever it is, something could not go on
        verdict = Verdict()
        verdict.note("stuck", f"{type(error).__name__}: {error}; they said: {stage.last_words()}")
    lane.rounds += 1
    lane.actions[action] += 1
    lane.verdict.add(verdict, f"round {number}, {action}")
    return verdict.good


def _action(number: int) -> str:
    """Mostly kill -9; now and then one that ends by itself, stands still for a moment, or gets an error."""
    return {3: EXIT, 4: STOP, 5: RAISE}.get(number % 8, KILL)


def _tell(part: Part, lanes: Sequence[Lane], *, full: bool) -> None:
    engines = {lane.engine for lane in lanes}
    many = Counter(lane.point for lane in lanes if lane.rounds >= ROUNDS)
    often = [point for point, count in many.items() if count == len(ENGINES)]
    actions = sum((lane.actions for lane in lanes), Counter[str]())
    missed = [text for lane in lanes for text in lane.missed]
    forgotten = without_scene()
    part.row("points at which processes died", f"{len({lane.point for lane in lanes if lane.rounds})}")
    part.row(
        "points of the program without a scene",
        ", ".join(forgotten) or "0",
        "0",
        good=not forgotten,
    )
    part.row("engines", ", ".join(sorted(engines)), "3", good=len(engines) == len(ENGINES))
    if full:
        part.demand(f"points with {ROUNDS} rounds on each engine", len(often), _LEAST_POINTS)
        part.demand("rounds", sum(lane.rounds for lane in lanes), _LEAST_POINTS * len(ENGINES) * ROUNDS)
    else:
        part.demand("rounds", sum(lane.rounds for lane in lanes), len(_QUICK))
    part.row("jobs acknowledged", f"{part.verdict.jobs:,}")
    part.row("processes killed with -9 at a point", f"{actions[KILL]:,}")
    part.row(
        "processes that ended, stood still or got an error there",
        f"{actions[EXIT]:,}, {actions[STOP]:,}, {actions[RAISE]:,}",
    )
    part.row("runs of a job that had been run before", f"{part.verdict.again:,} of {part.verdict.runs:,}")
    part.row("rounds in which nobody came to the point", f"{len(missed)}", "0", good=not missed)
    part.left_out += missed[:5]

"""The wall clock jumps under running workers: of one of them, of all, and between two machines.

No lease may be lost by that, no job run twice, no timeout or back-off become another. What was to run at a
time of day follows the clock.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from tests.support.engines import ENGINES, fresh_store

from proof.clock_scene import BACK_OFF, TIMEOUT, Scene, Told
from proof.verdict import Part
from proof.wall_clock import build, unavailable

HOUR, DAY = 3_600, 86_400
JUMPS = {"+1 h": HOUR, "+1 year": 365 * DAY, "−2 days": -2 * DAY}
_SKEW = 300  # seconds, between two machines that use one server


@dataclass(frozen=True)
class Plan:
    """What is done to one store, in this order. Each jump begins from the right time."""

    engine: str
    url: str | None
    jumps: tuple[tuple[str, int, bool], ...]  # in words, seconds, whether for all workers
    skews: tuple[int, ...] = ()


def prove(*, full: bool) -> Part:
    part = Part("clocks")
    if reason := unavailable():
        part.left_out.append(reason)
        return part
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:
        library = build(Path(directory))
        plans = [
            _plan(engine, stack.enter_context(fresh_store(engine)), full=full)
            for engine in (ENGINES if full else ENGINES[:1])
        ]
        told = _carry_out(plans, library, Path(directory))
    for each in told:
        part.verdict.add(each.verdict, each.engine)
    _rows(part, told, full=full)
    return part


def _plan(engine: str, url: str | None, *, full: bool) -> Plan:
    jumps = tuple((words, seconds, all_) for words, seconds in JUMPS.items() for all_ in (False, True))
    if not full:
        jumps = (("+1 year", JUMPS["+1 year"], True), ("−2 days", JUMPS["−2 days"], True))
    return Plan(engine, url, jumps, (_SKEW, -_SKEW) if url else ())


def _carry_out(plans: Sequence[Plan], library: Path, directory: Path) -> list[Told]:
    """A process for each store: they mostly wait."""
    places = [directory / plan.engine for plan in plans]
    for place in places:
        place.mkdir()
    if len(plans) == 1:
        return [carry_out(plans[0], library, places[0])]
    with ProcessPoolExecutor(len(plans), mp_context=get_context("spawn")) as pool:
        return list(pool.map(carry_out, plans, [library] * len(plans), places))


def carry_out(plan: Plan, library: Path, directory: Path) -> Told:
    """All of it on one store."""
    with Scene(plan.engine, plan.url, library, directory) as scene:
        for words, seconds, all_ in plan.jumps:
            scene.jump(words, seconds, all_=all_)
        for seconds in plan.skews:
            scene.skew(seconds)
        return scene.told()


def _rows(part: Part, told: Sequence[Told], *, full: bool) -> None:
    counts = sum((each.counts for each in told), Counter[str]())
    timeouts = [seconds for each in told for seconds in each.timeouts]
    waits = [seconds for each in told for seconds in each.waits]
    part.times = {"a timeout over a jump": timeouts, "a back-off over a jump": waits}
    jumps = f"jumps of the clock under running jobs ({', '.join(JUMPS)})"
    part.demand(jumps, counts["jumps"], 18 if full else 2)
    if full:
        part.demand("rounds with two machines 5 minutes apart", counts["skews"], 4)
    part.row("jobs that ran over a jump", f"{counts['over a jump']:,}")
    for what in ("leases lost", "jobs run again", "wrong durations"):
        part.row(f"{what} by that", str(counts[what]), "0", good=counts[what] == 0)
    part.row(f"a timeout of {TIMEOUT:g} s over a jump", f"{min(timeouts):.1f}–{max(timeouts):.1f} s")
    part.row(f"a back-off of {BACK_OFF:g} s over a jump", f"≤ {max(waits):.1f} s", "seconds, not days")

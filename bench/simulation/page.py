"""The figures of docs/scaling.md: tables between marks that stand in its text, which is written by hand."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from bench.simulation import curves
from bench.simulation.check import Outcome
from bench.simulation.costs import Costs, Line, Work
from bench.simulation.curves import Point
from bench.table import median, number
from queuectl.config.settings import Settings

Curves = Mapping[str, Mapping[str, Sequence[Point]]]  # by length and engine
Limits = Mapping[str, Mapping[str, tuple[Point, Point | None]]]  # likewise

_BLOCK = re.compile(r"(<!-- simulation: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_FLEETS = (100, 1000, 10_000)
_CONNECTIONS = 2  # of each worker process: the loop's and the heart's


def fill(text: str, blocks: Mapping[str, str]) -> str:
    """The text with its blocks replaced; each must be there once."""
    names = [match[2] for match in _BLOCK.finditer(text)]
    if sorted(names) != sorted(blocks):
        raise ValueError(f"the page has the blocks {sorted(names)}, there are figures for {sorted(blocks)}")
    return _BLOCK.sub(lambda match: f"{match[1]}\n{blocks[match[2]]}\n\n{match[3]}", text)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, ["---"] * len(header), *rows))


def costs_of(engines: Sequence[Costs]) -> str:
    def row(what: str, say: Callable[[Costs], str]) -> list[str]:
        return [what, *(say(costs) for costs in engines)]

    rows = [
        row("exchange, n jobs in and n out", lambda costs: _work(costs.exchange, "n")),
        row("… and later, in the background", lambda costs: _line(costs.background, "n")),
        row(
            "… trips to the server",
            lambda costs: number(costs.exchange.trips) if costs.exchange.trips else "–",
        ),
        row("… for each row that others are claiming", lambda costs: _line(Line(costs.skip))),
        row("… for each claimed since the oldest transaction", lambda costs: _line(Line(costs.remains))),
        row("heartbeat", lambda costs: _work(costs.beat)),
        row("… its upkeep, with w workers", lambda costs: _work(costs.upkeep, "w")),
        row("look whether anything has changed", lambda costs: _work(costs.poll)),
        row("look whether there is work", lambda costs: _work(costs.look)),
        row("enqueue n jobs at once", lambda costs: _work(costs.enqueue, "n")),
        row("until the disk has a commit of n jobs", lambda costs: _line(costs.flush, "n")),
        row("a trip, beyond both processors", lambda costs: _line(Line(costs.trip))),
        row("start a command", lambda costs: _line(Line(costs.start))),
        row("the command itself, a shell and `sleep`", lambda costs: _line(Line(costs.command))),
    ]
    return table(["milliseconds: worker / server", *(costs.engine for costs in engines)], rows)


def _work(work: Work, by: str = "") -> str:
    client = _line(work.client, by)
    return f"{client} / {_line(work.server, by)}" if work.server != Line(0.0) else client


def _line(line: Line, by: str = "") -> str:
    if line == Line(0.0):
        return "–"
    return _ms(line.fixed) + (f" + {_ms(line.each)} {by}" if line.each else "")


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.2g}" if seconds < 0.01 else f"{seconds * 1000:.0f}"


def machine(facts: Mapping[str, str]) -> str:
    return ", ".join(f"{what} {is_}" for what, is_ in facts.items()) + "."


def checks(outcomes: Sequence[Outcome], left_out: Sequence[str]) -> str:
    engines = list(dict.fromkeys(outcome.engine for outcome in outcomes))
    by_trial: dict[str, dict[str, str]] = {}
    for outcome in outcomes:
        told = f"{_rate(median(outcome.real))} / {_rate(outcome.simulated)} ({round(outcome.off * 100):+d} %)"
        by_trial.setdefault(outcome.trial.told, {})[outcome.engine] = told
    rows = [[what, *(of.get(engine, "–") for engine in engines)] for what, of in by_trial.items()]
    distances = sorted(abs(outcome.off) for outcome in outcomes)
    said = (
        f"Off by {median(distances) * 100:.0f} % in the middle, {distances[-1] * 100:.0f} % at worst "
        f"({len(outcomes)} trials, {len(outcomes[0].real)} of each)."
    )
    not_tried = [f"Not tried: {why}." for why in left_out]
    header = ["jobs/s, real / simulated", *engines]
    return "\n\n".join([table(header, rows), " ".join([said, *not_tried])])


def _rate(value: float) -> str:
    if not value:
        return "stuck"  # not one within the seconds that were simulated
    return f"{value:.2g}" if value < 1 else number(value)


def _share(value: float) -> str:
    return f"{value * 100:.0f} %"


def limits(found: Limits) -> str:
    """How many workers hardly hinder each other, and what stops the next."""
    engines = list(next(iter(found.values())))
    rows = [[f"**{length}**", *(_limit(*of[engine]) for engine in engines)] for length, of in found.items()]
    return table(["jobs of", *engines], rows)


def _limit(last: Point, bad: Point | None) -> str:
    machines = "1 machine" if last.machines == 1 else f"{last.machines:,} machines"
    rate = f"**{_rate(last.figures.jobs_per_second)} jobs/s**, {last.workers:,} workers on {machines}"
    if bad is None:
        return f"{rate}; no limit found"
    return f"{rate}; then {_hindrance(bad)}"


def _hindrance(point: Point) -> str:
    if not point.alive:
        return "heartbeats come too late"
    return f"{point.figures.busiest} ({_share(point.figures.store_busy)})"


def curve_tables(found: Curves) -> str:
    return "\n\n".join(
        f"Jobs of {length}: jobs/s, slots busy, mean wait of a free slot\n\n{_curve_table(of)}"
        for length, of in found.items()
    )


def _curve_table(of: Mapping[str, Sequence[Point]]) -> str:
    rows = []
    for workers in curves.SIZES:
        cells = [
            next((_cell(one) for one in points if one.workers == workers), "–") for points in of.values()
        ]
        rows.append([f"{workers:,} ({curves.machines(workers):,})", *cells])
    return table(["workers (machines)", *of], rows)


def _cell(point: Point) -> str:
    figures = point.figures
    dead = "" if point.alive else " †"
    if not figures.jobs_per_second:
        return _rate(0.0) + dead
    wait = round(figures.wait * 1000, 1)
    told = f"{wait:.1f}" if 0 < wait < 10 else f"{wait:,.0f}"
    return f"{_rate(figures.jobs_per_second)} · {_share(figures.slots_busy)} · {told} ms{dead}"


def fleets(engines: Sequence[Costs]) -> str:
    """What workers cost a server by being there: no simulation, only sums."""
    settings = Settings()
    beats = 1000 / settings.worker_heartbeat_interval
    polls = 1000 / settings.poll_interval

    def row(what: str, of: Callable[[int], float]) -> list[str]:
        return [what, *(number(of(fleet)) for fleet in _FLEETS)]

    rows = [
        row("connections", lambda fleet: _CONNECTIONS * fleet),
        row("heartbeats (commits) a second", lambda fleet: fleet * beats),
    ]
    for costs in engines:
        rows += [
            row(f"{costs.engine}: cores for heartbeats", partial(_beating, costs, beats)),
            row("… cores for the looks of idle workers", partial(_times, polls * _idle_look(costs))),
        ]
        if costs.memory:
            rows.append(row("… GB for connections", partial(_times, _CONNECTIONS * costs.memory / 1024)))
        if costs.poll.server.fixed:  # where workers wait for a hint
            herd = partial(_times, costs.exchange.server.fixed)
            rows.append(row("… seconds of a core when a hint wakes them all", herd))
    return table(["worker processes", *(f"{fleet:,}" for fleet in _FLEETS)], rows)


def _times(each: float, fleet: int) -> float:
    return each * fleet


def _beating(costs: Costs, beats: float, fleet: int) -> float:
    return fleet * beats * (costs.beat.server.fixed + costs.upkeep.server.at(fleet))


def _idle_look(costs: Costs) -> float:
    """PostgreSQL tells whether anything has changed; else two looks find out (`Desk._look`)."""
    if costs.poll.server.fixed:
        return costs.poll.server.fixed
    return 2 * costs.look.server.fixed


def ways(told: Sequence[str], found: Mapping[str, Sequence[Sequence[Point | None]]]) -> str:
    """Jobs per second of ten thousand slots: by engine, for each way those of each length."""
    columns = [f"{engine}, {length}" for engine in found for length in curves.LENGTHS]
    rows = [
        [what, *(_way(one) for of in found.values() for one in of[place])] for place, what in enumerate(told)
    ]
    return table(["10,000 slots on 1,000 machines, jobs/s", *columns], rows)


def _way(point: Point | None) -> str:
    if point is None:
        return "–"
    return _rate(point.figures.jobs_per_second) + ("" if point.alive else " †")

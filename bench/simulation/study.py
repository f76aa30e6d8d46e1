"""The whole of it: measure costs, run for real, simulate, write the page. What was measured is kept."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench import machine
from bench.places import POSTGRES, SERVERS, SQLITE, found, not_measured
from bench.simulation import chart, check, curves, measuring, page
from bench.simulation.check import Outcome, Trial
from bench.simulation.costs import Costs, from_json
from bench.table import STATED, Result, median

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/scaling.md"
PICTURE = ROOT / "docs/images/scaling.svg"
MEASURED = Path(__file__).with_name("measured.json")
_ROUNDS = 3
_FACTS = ("cores", "CPU", "memory", "kernel", "Python", *(SQLITE, *SERVERS))


def measure(*, quick: bool = False) -> list[Result]:
    servers = found()
    results = [
        not_measured(f"the simulation of {engine}", "no server")
        for engine in SERVERS
        if engine not in servers
    ]
    engines: list[Costs] = []
    outcomes: list[Outcome] = []
    left_out: list[str] = []
    for engine in (SQLITE, *servers):
        print(f"  costs of {engine} …", file=sys.stderr)
        engines.append(measuring.measure(engine, servers, quick=quick))
        print(f"  real runs on {engine} …", file=sys.stderr)
        tried, not_tried = check.compare(
            engines[-1], servers, check.trials(quick=quick), rounds=1 if quick else _ROUNDS
        )
        outcomes += tried
        left_out += not_tried
    if not quick and not results:
        pooled = measuring.measure(measuring.POOLED, servers)
        _keep([*engines, pooled], outcomes, left_out)
        write()
    return [*results, *map(_compared, outcomes), *(not_measured(what, "no room") for what in left_out)]


def _compared(outcome: Outcome) -> Result:
    return Result(
        f"{outcome.engine}, {outcome.trial.told}",
        outcome.real,
        "jobs/s",
        peer="simulated",
        peer_values=[outcome.simulated],
        ratio=outcome.simulated / median(outcome.real),
        target=STATED,
        good=True,
    )


def _keep(engines: Sequence[Costs], outcomes: Sequence[Outcome], left_out: Sequence[str]) -> None:
    facts = machine.facts()
    kept = {
        "machine": {name: facts[name] for name in _FACTS},
        "costs": [asdict(costs) for costs in engines],
        "real runs": [
            {"engine": outcome.engine, "trial": outcome.trial._asdict(), "jobs per second": outcome.real}
            for outcome in outcomes
        ],
        "left out": list(left_out),
    }
    MEASURED.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", "utf-8")


def write() -> None:
    """The page and its picture, from what was measured last."""
    kept: dict[str, Any] = json.loads(MEASURED.read_text("utf-8"))
    measured = {costs["engine"]: from_json(costs) for costs in kept["costs"]}
    pooled = {POSTGRES: measured[measuring.POOLED]}
    engines = [measured[engine] for engine in (SQLITE, *SERVERS)]
    servers = [measured[engine] for engine in SERVERS]
    outcomes = [_outcome(run, measured, int(kept["machine"]["cores"])) for run in kept["real runs"]]
    lines = {
        length: {costs.engine: curves.curve(costs, seconds) for costs in engines}
        for length, seconds in curves.LENGTHS.items()
    }
    limits = {
        length: {
            costs.engine: curves.carried(costs, seconds, lines[length][costs.engine]) for costs in engines
        }
        for length, seconds in curves.LENGTHS.items()
    }
    ways = {costs.engine: curves.ways(costs, pooled.get(costs.engine)) for costs in servers}
    turned = {
        engine: [[way.point(seconds) for seconds in curves.LENGTHS.values()] for way in of]
        for engine, of in ways.items()
    }
    blocks = {
        "machine": page.machine(kept["machine"]),
        "costs": page.costs_of([*engines, *pooled.values()]),
        "checks": page.checks(outcomes, kept["left out"]),
        "limits": page.limits(limits),
        "curves": page.curve_tables(lines),
        "fleets": page.fleets(servers),
        "ways": page.ways([way.told for way in ways[POSTGRES]], turned),
    }
    PAGE.write_text(page.fill(PAGE.read_text("utf-8"), blocks), "utf-8")
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(chart.draw(lines), "utf-8")


def _outcome(run: Mapping[str, Any], measured: Mapping[str, Costs], cores: int) -> Outcome:
    trial = Trial(**run["trial"])
    simulated = check.simulated(measured[run["engine"]], trial, cores=cores)
    return Outcome(run["engine"], trial, simulated, run["jobs per second"])

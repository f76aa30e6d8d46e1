"""`python -m bench`: run suites and print one table. Exit code 1 if a target is missed or a suite fails.

What each has measured is kept (bench/results); the report is made from the last full runs.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import import_module

from bench import machine, report
from bench.keeping import Run, keep, last
from bench.table import print_table

SHORT = (
    *("throughput", "enqueue", "store", "latency", "memory", "servers", "conditions", "disk", "idle"),
    "web",
)
LONG = ("growth", "simulation")  # fill stores with millions of jobs, or run for minutes
SUITES = (*SHORT, *LONG)


def main() -> int:
    given = _arguments()
    if given.report:
        return _report()
    names = given.names or (SHORT if given.quick else SUITES)
    began = time.monotonic()
    runs = [_run(name, quick=given.quick) for name in names]
    facts = machine.facts()
    print(f"\n{facts['cores']} cores, Python {facts['Python']}, {time.monotonic() - began:.0f} s\n")
    print_table([result for run in runs for result in run.results])
    failed = [run for run in runs if run.failed]
    for run in failed:
        print(f"*** {run.name.upper()} FAILED: {run.failed}", file=sys.stderr)
    if given.full:
        _report()
    return 0 if all(run.good for run in runs) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Measures queuectl beside its peers.",
        epilog=f"Suites: {', '.join(SUITES)}.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these suites")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--quick", action="store_true", help="short versions; of all suites within five minutes")
    how.add_argument("--full", action="store_true", help="all suites, then the report")
    how.add_argument(
        "--report", action="store_true", help="measure nothing: RESULTS.md and pictures of the last full runs"
    )
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in SUITES]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; choose from {', '.join(SUITES)}")
    if given.names and (given.full or given.report):
        parser.error("--full and --report are about all suites")
    if not (given.names or given.quick or given.full or given.report):
        parser.error("name suites, or say --quick (minutes) or --full (an hour or more)")
    return given


def _run(name: str, *, quick: bool) -> Run:
    """Whatever happens in a suite, the others keep theirs."""
    print(f"measuring {name} …", file=sys.stderr)
    run = Run(name, quick, f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC", machine=machine.facts())
    steadiness = machine.Steadiness()
    began = time.monotonic()
    try:
        run.results = import_module(f"bench.{name}").measure(quick=quick)
    except Exception as error:
        traceback.print_exc()
        run.failed = f"{type(error).__name__}: {error}"
    run.seconds = round(time.monotonic() - began, 1)
    run.noise = steadiness.told()
    run.contestants = machine.contestants()
    keep(run)
    return run


def _report() -> int:
    runs: Sequence[Run | str] = [last(name) or name for name in SUITES]
    for file in report.write(runs):
        print(f"wrote {file.relative_to(report.ROOT)}", file=sys.stderr)
    return 0 if all(isinstance(run, Run) and not run.failed for run in runs) else 1


if __name__ == "__main__":
    sys.exit(main())

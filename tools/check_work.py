"""Fails when a job costs more work than its budget: counted, not timed, so that a noisy machine is no excuse.

`--write` takes what is counted now as the budget, with a margin for what differs from run to run. Whether the
work takes long is left to `make bench`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import trace_worker

ROOT = Path(__file__).resolve().parent.parent
BUDGET = Path(__file__).with_name("work_budget.toml")
HEAD = """\
# What one job may cost: the figures of tools/check_work.py with their margins. Written by its --write.
# A higher figure is a decision: say in the commit why it is worth it.
"""


class Figure(NamedTuple):
    """`margin` and `slack`: how much more, by factor and by count, is still the same as what was measured."""

    what: str
    look: str  # what shows where it comes from
    margin: float = 0.0
    slack: float = 0.0


TRACE = "python tools/trace_worker.py"
SQL = "python -m bench.statements"
FIGURES = {
    "worker.calls": Figure("system calls with every job", TRACE, slack=0.6),
    # How many jobs share these depends on the machine's other load; under strace everything takes longer.
    "worker.shared_calls": Figure("system calls that jobs share, a job", TRACE, margin=1.0),
    "worker.fsyncs": Figure("… fsyncs among them", TRACE, margin=3.0),
    "store.statements": Figure("SQL statements, a job of 64 in a batch", SQL, margin=0.02),
    "store.steps": Figure("… steps of SQLite's machine", SQL, margin=0.03),
    "store.pages": Figure("… pages written to its log", SQL, margin=0.1),
    "store.commits": Figure("… commits", SQL, margin=0.02),
    "enqueue.modules": Figure("modules that `enqueue` imports", "tests/cli/enqueue_imports.txt"),
}

IMPORTED = """
import sys
before = set(sys.modules)
from queuectl.cli.main import main
main(["enqueue", "--quiet", "true"])
print(len(set(sys.modules) - before))
"""


class Line(NamedTuple):
    """One figure beside its budget; without a budget it is over it."""

    name: str
    figure: float
    budget: float | None

    @property
    def over(self) -> bool:
        return self.budget is None or self.figure > self.budget

    def __str__(self) -> str:
        allowed = "no budget" if self.budget is None else f"of {self.budget:g}"
        mark = "OVER" if self.over else "ok"
        return f"  {FIGURES[self.name].what:<40} {self.figure:9.4g} {allowed:<12} {mark}"


def judge(figures: Mapping[str, float], budget: Mapping[str, float]) -> list[Line]:
    return [Line(name, figure, budget.get(name)) for name, figure in figures.items()]


def budget_of(figures: Mapping[str, float]) -> dict[str, float]:
    """Rounded to what a reader can compare."""
    wide = {
        name: figure * (1 + FIGURES[name].margin) + FIGURES[name].slack for name, figure in figures.items()
    }
    return {name: float(f"{figure:.4g}") for name, figure in wide.items()}


def count() -> tuple[dict[str, float], str]:
    """The figures, and why those of the worker are missing if they are."""
    figures = {**_store(), **_enqueue()}
    why = trace_worker.trouble()
    return (figures, why) if why else ({**_worker(), **figures}, "")


def count_calmly() -> tuple[dict[str, float], str]:
    """The least of up to three counts: a busy machine adds waits and wake-ups, never takes work away."""
    figures, why = count()
    for _ in range(2):
        if not any(line.over for line in judge(figures, read()[0])):
            break
        again, _ = count()
        figures = {name: min(figure, again.get(name, figure)) for name, figure in figures.items()}
    return figures, why


def _worker() -> dict[str, float]:
    calls = trace_worker.measured()
    shared = sum(calls.get(name, 0) for name in trace_worker.AT_TIMES)
    return {
        "worker.calls": sum(calls.values()) - shared,
        "worker.shared_calls": shared,
        "worker.fsyncs": calls.get("fsync", 0) + calls.get("fdatasync", 0),
    }


def _store() -> dict[str, float]:
    counted = json.loads(_output("-m", "bench.statements", "--json"))
    return {f"store.{name}": float(figure) for name, figure in counted.items()}


def _enqueue() -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="queuectl-work-") as home:
        said = _output("-c", IMPORTED, QUEUECTL_HOME=home)
    return {"enqueue.modules": float(said.split()[-1])}


def _output(*arguments: str, **environment: str) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("QUEUECTL_")}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**kept, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"counting failed: {' '.join(arguments[:2])}\n{done.stderr}")
    return done.stdout


def here() -> str:
    """What else the figures depend on."""
    return (
        f"Python {'.'.join(platform.python_version_tuple()[:2])} on {platform.system()} {platform.machine()}"
    )


def read(file: Path = BUDGET) -> tuple[dict[str, float], str]:
    """The budget, and on what it was measured."""
    if not file.exists():
        return {}, ""
    stored = tomllib.loads(file.read_text(encoding="utf-8"))
    return stored["budget"], stored["measured_with"]


def write(figures: Mapping[str, float], file: Path = BUDGET) -> None:
    """What could not be counted here keeps the budget that it has."""
    budget = {**read(file)[0], **budget_of(figures)}
    lines = [f'"{name}" = {budget[name]:g}' for name in FIGURES if name in budget]
    text = "\n".join([HEAD, f'measured_with = "{here()}"', "", "[budget]", *lines]) + "\n"
    file.write_text(text, encoding="utf-8")
    print(f"wrote {file}")


def explain(over: list[Line], measured_with: str) -> int:
    """What to do about it; the exit code. Other versions of Python count otherwise: that is said, no more."""
    elsewhere = measured_with not in ("", here())
    names = ", ".join(line.name for line in over)
    print(f"work: more than the budget: {names}", file=sys.stderr)
    for look in dict.fromkeys(FIGURES[line.name].look for line in over):
        print(f"  see what it is made of, here and before your change: {look}", file=sys.stderr)
    if elsewhere:
        print(f"*** NOT JUDGED: the budget is of {measured_with}, this is {here()}", file=sys.stderr)
        return 0
    print("  if it is worth it: python tools/check_work.py --write", file=sys.stderr)
    return 1


def skipped(why: str) -> int:
    """Loudly. In CI only a machine that cannot trace is excused, not one on which nobody installed strace."""
    print(f"*** NOT COUNTED: system calls of a worker: {why}", file=sys.stderr)
    return 1 if os.environ.get("CI") == "true" and why == trace_worker.MISSING else 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Counts the work of a job and compares it with its budget.")
    parser.add_argument("--write", action="store_true", help="take the present figures as the budget")
    given = parser.parse_args()
    figures, why = count_calmly()
    code = skipped(why) if why else 0
    if given.write:
        write(figures)
    budget, measured_with = read()
    lines = judge(figures, budget)
    print("work: counted for one job, of what it may be", *lines, sep="\n")
    over = [line for line in lines if line.over]
    return explain(over, measured_with) or code if over else code


if __name__ == "__main__":
    sys.exit(main())

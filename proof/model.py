"""The protocol of claim, lease, heartbeat, rescue and fence as a model, and all that can happen in it.

spin goes through every order of the steps in proof/model/lease.pml; nothing is left to chance. Then parts of
the protocol are taken away, one by one: each time it must find what goes wrong, or the model proves nothing.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from proof.verdict import Part

MODEL = Path(__file__).parent / "model" / "lease.pml"
TOOLS = ("spin", "gcc")
SAFE = ""  # the assertions in the model; the others are named in it
_WITHIN = 600.0  # seconds for one search
_DEEPEST = 100_000
_AT_ONCE = 2  # searches; each takes less than half a gigabyte


@dataclass(frozen=True)
class Search:
    """What is looked for, in which of the model's variants."""

    what: str
    defines: tuple[str, ...] = ()
    property: str = SAFE


@dataclass(frozen=True)
class Found:
    states: int
    transitions: int
    depth: int
    errors: int
    whole: bool  # every state was gone through


SEARCHES = (
    Search("a fault, a lost answer, a rescuer that breaks off", ("FAULTS=1",)),
    Search("two faults", ("FAULTS=2", "LOSSES=0", "CRASHES=0", "GIVEN_BACK=1")),
    Search("two rescuers of the same worker", ("FAULTS=1", "LOSSES=0", "CRASHES=0", "RESCUERS=2")),
    Search(
        "each worker on a machine of its own", ("FAULTS=1", "LOSSES=0", "CRASHES=0", "APART", "RESCUERS=2")
    ),
    Search("what has ended stays so", ("FAULTS=1", "CRASHES=0"), "ended_is_final"),
    Search("no job is held for ever", ("FAULTS=1", "CRASHES=0"), "never_stuck"),
    Search("every job comes to an end", ("FAULTS=1", "LOSSES=0"), "comes_to_an_end"),
)

# What is taken away; each time there must be an error.
MUTANTS = (
    Search("no fence", ("NO_FENCE", "FAULTS=1", "LOSSES=0", "RESCUERS=2")),
    Search("a fence by the state alone", ("STATE_FENCE", "FAULTS=1", "LOSSES=0", "RESCUERS=2")),
    Search("a fence by the worker's name", ("NAME_FENCE", "FAULTS=1", "LOSSES=0", "RESCUERS=2")),
    Search(
        "a worker that is dead in the store may claim",
        ("NO_WORKER_CHECK", "FAULTS=1", "LOSSES=0"),
        "never_stuck",
    ),
    Search("a claim does not hold its worker's row", ("NO_KEEP", "FAULTS=1", "CRASHES=0"), "never_stuck"),
    Search("a repeat does not wait for the first request", ("NO_WAIT", "FAULTS=0"), "never_stuck"),
    Search("a request without an answer is not repeated", ("NO_REPEAT", "FAULTS=0"), "never_stuck"),
    Search("a burial overlooks that the lease was renewed", ("NO_GUARD", "FAULTS=1", "LOSSES=0")),
    Search("a rescuer does not kill what is left", ("NO_KILLING", "FAULTS=1", "LOSSES=0")),
    Search("a worker that is cut off does not end its command", ("NO_SELF_FENCE", "FAULTS=1", "LOSSES=0")),
)

# For the tests: a second or two each.
FEW = (Search("no faults but a lost answer: no job is held for ever", ("FAULTS=0",), "never_stuck"),)
FEW_MUTANTS = tuple(mutant for mutant in MUTANTS if {"NO_REPEAT", "NO_FENCE"} & set(mutant.defines))


def prove(*, full: bool) -> Part:
    part = Part("model")
    if lacking := missing():
        part.left_out.append(f"the model was not checked: no {lacking} (Debian packages spin and gcc)")
        return part
    searches, mutants = (SEARCHES, MUTANTS) if full else (FEW, FEW_MUTANTS)
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        whole, broken = threads.map(search, searches), threads.map(search, mutants)
        for wanted, found in zip(searches, whole, strict=True):
            good = found.whole and not found.errors
            part.row(f"every order: {wanted.what}", _told(found), "no error, every state", good=good)
        caught = 0
        for mutant, found in zip(mutants, broken, strict=True):
            caught += found.errors > 0
            part.row(f"mutant: {mutant.what}", _told(found), "an error", good=found.errors > 0)
    part.demand("mutants caught", caught, len(mutants))
    return part


def missing() -> str:
    """The tools that are not here, or nothing."""
    return ", ".join(tool for tool in TOOLS if shutil.which(tool) is None)


def search(wanted: Search) -> Found:
    """Go through the model; ends at the first error."""
    with tempfile.TemporaryDirectory() as directory:
        defines = [f"-D{each}" for each in wanted.defines]
        _run(["spin", *defines, "-a", str(MODEL)], directory)
        # Weak fairness, for what must happen some day, needs room to count the processes.
        how = ["-DNFAIR=7"] if wanted.property else ["-DSAFETY", "-DNOCLAIM"]
        _run(["gcc", "-O1", "-w", "-DCOLLAPSE", *how, "-o", "pan", "pan.c"], directory)
        # -E: to wait for ever is no error here, every process but the workers does.
        goal = ["-a", "-f", "-N", wanted.property] if wanted.property else []
        return read(_run(["./pan", "-E", f"-m{_DEEPEST}", *goal], directory))


def read(text: str) -> Found:
    """What spin's search has printed."""

    def number(pattern: str) -> int:
        match = re.search(pattern, text, re.MULTILINE)
        if match is None:
            raise RuntimeError(f"spin did not come to an end:\n{text[-2000:]}")
        return int(match[1])

    return Found(
        states=number(r"^ *(\d+) states, stored"),
        transitions=number(r"^ *(\d+) transitions"),
        depth=number(r"depth reached (\d+)"),
        errors=number(r"errors: (\d+)"),
        whole="Search not completed" not in text and "max search depth too small" not in text,
    )


def _told(found: Found) -> str:
    seen = f"{found.states:,} states, {found.transitions:,} transitions, depth {found.depth}"
    return f"{'an error after' if found.errors else 'no error in'} {seen}"


def _run(command: Sequence[str], directory: str) -> str:
    done = subprocess.run(
        command,
        cwd=directory,
        timeout=_WITHIN,
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} failed:\n{done.stdout[-2000:]}")
    return done.stdout

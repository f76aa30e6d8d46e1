"""The sweep: a job's whole life, again and again, and each time the next of its system calls fails or kills.

Enqueue, worker and status each run under strace. At the n-th write, sync and so on the process is killed, or
the call ends with EIO or ENOSPC; n goes up until a run ends untouched. strace counts in each thread by
itself: an error comes at the n-th call of each, a kill at the n-th call of the one that gets there first.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from proof.syscalls_life import EIO, ENOSPC, KILL, STAGES, Fault, Life, Result, Stage, usual_calls
from proof.verdict import MOST_TOLD, Part

_AT_ONCE = 2
_LEAST = 300  # faults in the whole sweep
# That a read kills or finds the disk full proves nothing.
_FAULTS = {"pread64": (EIO,)}
_ALL_FAULTS = (KILL, EIO, ENOSPC)
_FIRST, _ENQUEUE, _WORKER, _STATUS = STAGES
# The small version: one of each kind, somewhere in the middle of what the command does.
_FEW = (
    Fault(_FIRST, "pwrite64", KILL, 40),
    Fault(_ENQUEUE, "fdatasync", EIO, 1),
    Fault(_WORKER, "pwrite64", KILL, 20),
    Fault(_WORKER, "fdatasync", EIO, 3),
    Fault(_WORKER, "pwrite64", ENOSPC, 20),
)


@dataclass(frozen=True)
class Sweep:
    """All calls of one kind in one command, with one fault."""

    stage: Stage
    call: str
    what: str

    def carry_out(self, life: Life) -> list[Result]:
        """Until a run ends before it comes so far."""
        results: list[Result] = []
        for number in count(1):
            fault = Fault(self.stage, self.call, self.what, number)
            result = life.suffer(fault)
            if not result.told.touched:
                break
            results.append(result)
        return results


def prove(*, full: bool) -> Part:
    part = Part("syscalls")
    if reason := _why_not():
        part.left_out.append(reason)
        return part
    with tempfile.TemporaryDirectory() as directory:
        life = Life(Path(directory))
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            if full:
                swept = pool.map(lambda sweep: sweep.carry_out(life), list(_sweeps(life)))
                results = [result for results in swept for result in results]
            else:
                results = [result for result in pool.map(life.suffer, _FEW) if result.told.touched]
    _report(part, results, least=_LEAST if full else len(_FEW) - 1)
    return part


def _why_not() -> str:
    if shutil.which("strace") is None:
        return "the syscall sweep: there is no strace on this machine (Debian package strace)"
    trial = ["strace", "-f", "-b", "execve", "-o", "/dev/null", "true"]
    tried = subprocess.run(trial, capture_output=True, check=False)
    return "" if tried.returncode == 0 else "the syscall sweep: strace may not trace processes here"


def _sweeps(life: Life) -> Iterator[Sweep]:
    for stage in STAGES:
        for call in usual_calls(life, stage):
            for what in _FAULTS.get(call, _ALL_FAULTS):
                yield Sweep(stage, call, what)


def _report(part: Part, results: list[Result], *, least: int) -> None:
    tried: Counter[tuple[str, str]] = Counter()
    ends: Counter[str] = Counter()
    ugly = [f"{result.fault}: {result.told.ugly}" for result in results if result.told.ugly]
    part.verdict.findings += ugly[:MOST_TOLD]
    for result in results:
        fault, told = result.fault, result.told
        part.verdict.add(result.verdict, str(fault))
        tried[fault.call, fault.what] += 1
        ends["killed" if told.killed else "said so" if told.code else "went on"] += 1
    for call in dict.fromkeys(call for call, _ in tried):
        counts = [f"{tried[call, what]} × {what}" for what in _ALL_FAULTS if tried[call, what]]
        part.row(f"{call}: every one of them", ", ".join(counts))
    part.demand("faults in all", len(results), least)
    part.row("the command was killed", f"{ends['killed']:,}")
    part.row("it said what was wrong and ended", f"{ends['said so']:,}")
    part.row("it got over it and ended well", f"{ends['went on']:,}")
    part.row("it said so by a traceback, falsely, or not at all", str(len(ugly)), "0", good=not ugly)

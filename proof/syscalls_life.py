"""One command of a job's life under strace, in which the n-th system call of one kind fails or is the last.

Which calls are tried with which faults is left to `syscalls`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.home import Home

from proof.checker import LOG, RunLog, examine, recorded
from proof.verdict import Verdict
from queuectl.core import states
from queuectl.errors import NotFound

JOB = "j"
_LIMIT = 60.0  # seconds for a command that takes half a second

# More than is kept in the store, so that there is a file of its output. In the end it stops its own worker,
# as nothing else ends one that has nothing to do; but only if that is still its parent.
_PRINT = "head -c 20000 /dev/zero | tr '\\0' x"
_STOP_WORKER = 'if grep -q "^PPid:.$PPID$" /proc/$$/status; then kill -TERM $PPID; fi'

# All that changes something, and reading from the store. Those that a life does without cost nothing.
CALLS = (
    *("write", "pwrite64", "fdatasync", "fsync", "ftruncate", "fallocate", "mkdir", "mknodat"),
    *("rename", "renameat", "renameat2", "unlink", "unlinkat", "pread64"),
)
NOTHING, KILL, EIO, ENOSPC = "nothing", "kill", "EIO", "ENOSPC"
_RULES = {NOTHING: "", KILL: "signal=KILL", EIO: "error=EIO", ENOSPC: "error=ENOSPC"}


@dataclass(frozen=True)
class Stage:
    """A command of the job's life, and what there is when it begins."""

    name: str
    words: tuple[str, ...]
    store: bool = True  # there is one
    job: bool = True  # and the job is in it


# How it is said: `{command}` is the job's.
_ENQUEUE = ("enqueue", "--id", JOB, "{command}")
_WORKER = ("worker", "start", "--foreground")
STAGES = (
    Stage("enqueue, the first", _ENQUEUE, store=False, job=False),
    Stage("enqueue", _ENQUEUE, job=False),
    Stage("worker", _WORKER),
    Stage("status", ("status",)),
)


@dataclass(frozen=True)
class Fault:
    stage: Stage
    call: str  # the system call
    what: str
    number: int  # of that call, counted in each thread of the command

    def __str__(self) -> str:
        return f"{self.stage.name}, {self.what} at {self.call} {self.number}"


@dataclass
class Told:
    """How a command under a fault ended, and what it said."""

    touched: bool  # whether it came as far as the fault
    killed: bool
    code: int
    out: str
    err: str
    blamed: list[str] = field(default_factory=list)  # the calls that failed, as strace shows them
    stored: bool = False  # whether the job was found afterwards
    litter: list[str] = field(default_factory=list)  # files of its own that are still there in the end

    @property
    def acknowledged(self) -> bool:
        """Whether somebody who enqueued may rely on it."""
        return f"Job {JOB} " in self.out or (not self.killed and self.code == 0)

    @property
    def ugly(self) -> str:
        """What is wrong with how the user was told of it; empty if nothing is."""
        if self.litter:
            return f"it left {', '.join(self.litter)} behind"
        if self.killed:
            return ""
        # A pipe in memory has no disk to fail; if strace makes it fail, Python itself complains of that.
        if self.err.count("Traceback") > self.err.count("to write to the signal wakeup fd"):
            return "a traceback: " + self.err.strip().splitlines()[-1]
        if "internal error" in self.err:
            return "nobody had thought of it: " + self.err.strip()
        if self.code < 0:
            return f"it died of signal {-self.code}"
        if self.stored and "nothing was stored" in self.err:
            return "it said that nothing was stored, but it was"
        mute = any(call.startswith("write(2,") for call in self.blamed)
        if self.code and not self.err.strip() and not mute:
            return f"exit code {self.code} without a word"
        return ""


@dataclass(frozen=True)
class Result:
    fault: Fault
    told: Told
    verdict: Verdict


class Life:
    """The places at which lives go on. Stores are made once, and copied."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._models = {(False, False): None, **{(True, job): self._model(job) for job in (False, True)}}

    def _model(self, job: bool) -> Path:
        home = _site(self._root / f"model-{job:d}")
        home.ok("init")
        if job:
            home.ok(*_filled(_ENQUEUE))
        return home.path

    def home(self, fault: Fault) -> Home:
        name = f"{fault.stage.name}-{fault.call}-{fault.what}-{fault.number}".replace(" ", "-")
        home = _site(self._root / name)
        model = self._models[fault.stage.store, fault.stage.job]
        if model is not None:
            shutil.copytree(model, home.path)
        return home

    def suffer(self, fault: Fault) -> Result:
        """Run the command with the fault; then let others finish, undisturbed, and look."""
        home = self.home(fault)
        try:
            told = _traced(home, fault)
            told.stored = not fault.stage.job and _state(home) is not None
            verdict = _finish(home, acknowledged=fault.stage.job or told.acknowledged)
            run = Path(home.location.run_dir)
            # What the disk does not let us delete stays; after a kill it is the next worker that tidies up.
            if fault.what != KILL and fault.call != "unlink" and run.exists():
                told.litter = sorted(os.listdir(run))
        finally:
            home.close()
        shutil.rmtree(home.path.parent)
        return Result(fault, told, verdict)


def _site(root: Path) -> Home:
    root.mkdir()
    home = Home(root / "home")
    home.env["PYTHONDONTWRITEBYTECODE"] = "1"  # what Python caches is not of the job's life
    home.env["QUEUECTL_BACKOFF_MAX"] = "100ms"
    return home


def _filled(words: tuple[str, ...]) -> list[str]:
    # The same job in each copy of a store writes to the log of that place.
    command = f"{recorded(_PRINT, Path('$QUEUECTL_HOME/../work', LOG))}; {_STOP_WORKER}"
    return [word.format(command=command) for word in words]


def usual_calls(life: Life, stage: Stage) -> Counter[str]:
    """How many of each kind a command makes when nothing is in its way; those of its busiest thread."""
    nothing = Fault(stage, ",".join(CALLS), NOTHING, 0)
    home = life.home(nothing)
    trace = home.path.parent / "trace"
    _under_strace(home, nothing, trace)
    threads: dict[str, Counter[str]] = defaultdict(Counter)
    for line in trace.read_text(errors="replace").splitlines():
        thread, _, call = line.partition(" ")
        threads[thread][call.strip().partition("(")[0]] += 1
    return Counter({call: most for call in CALLS if (most := max(each[call] for each in threads.values()))})


def _under_strace(home: Home, fault: Fault, trace: Path) -> subprocess.CompletedProcess[str]:
    rule = _RULES[fault.what]
    return subprocess.run(
        # -b: commands of jobs are none of ours.
        ["strace", "-f", "-b", "execve", "-qq", "-o", str(trace), "-e", f"trace={fault.call}"]
        + (["-e", f"inject={fault.call}:{rule}:when={fault.number}"] if rule else [])
        + [sys.executable, "-m", "queuectl", *_filled(fault.stage.words)],
        env=home.env,
        cwd=home.work,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_LIMIT,
        check=False,
    )


def _traced(home: Home, fault: Fault) -> Told:
    trace = home.path.parent / "trace"
    process = _under_strace(home, fault, trace)
    lines = [line.partition(" ")[2].strip() for line in trace.read_text(errors="replace").splitlines()]
    blamed = [line for line in lines if line.endswith("(INJECTED)")]
    killed = "+++ killed by SIGKILL +++" in lines
    said = process.stdout, process.stderr
    return Told(bool(blamed) or killed, killed, process.returncode, *said, blamed)


def _finish(home: Home, *, acknowledged: bool) -> Verdict:
    """What is not there may be brought in again; what is there is done by a worker that nobody disturbs."""
    verdict = Verdict()
    state = _state(home)
    if state is None and not acknowledged:
        home.ok(*_filled(_ENQUEUE))
        state = _state(home)
    if state is not None and state not in states.TERMINAL:
        ended = home.q(*_WORKER, timeout=_LIMIT)
        if ended.returncode or "Traceback" in ended.stderr:
            verdict.note("stuck", f"the next worker ended with {ended.returncode}: {ended.stderr[-300:]}")
    verdict.add(examine(home, [JOB], RunLog(home.work / LOG)))
    return verdict


def _state(home: Home) -> str | None:
    if not os.path.exists(home.address):
        return None
    try:
        return home.state(JOB)
    except NotFound:
        return None

"""The death report of an attempt: what its end means, whose doing it was, what it used, its last words.

Made of its record and what it printed, so nothing is stored for it. What follows for the job is left to
`explaining` and `endings`; one sentence for each attempt to `stories`.
"""

from __future__ import annotations

import re

from queuectl.core import outcome as kinds
from queuectl.core.amounts import show_size
from queuectl.core.durations import format_duration, format_run
from queuectl.core.meanings import (
    NOT_EXECUTABLE,
    NOT_FOUND,
    meaning_of_code,
    meaning_of_signal,
    missing_command,
    signal_in,
    signal_name,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuectl.core.job import Attempt

# Ends that ask for an explanation; the others were somebody's wish, or a success.
DEATHS = (kinds.FAILED, kinds.TIMEOUT, kinds.SPAWN_ERROR, kinds.LOST)

_KILL, _TERM = 9, 15
_LEAST_TO_JUDGE_MS = 200  # a shorter run says nothing about waiting and working
_OWN_LIMIT = r"out of memory[ :(]+limit ([^)]+)"
_LOOKED_IN = re.escape(kinds.LOOKED_IN) + r"([^)]*)\)"
_SHORT_OF_MEMORY = r"memoryerror|bad_alloc|out of memory|cannot allocate memory|outofmemoryerror|oom-kill"
_TIMED_OUT = r"timed out after ([\d.]+ s)(?: \((.*)\))?"


class Death:
    """What is said of one attempt that ended badly. `cause` is for programs."""

    __slots__ = ("cause", "hint", "stderr", "text", "used")

    def __init__(self, cause: str, text: str, hint: str | None = None) -> None:
        self.cause = cause
        self.text = text  # one line
        self.hint = hint  # what to look at, or to do
        self.used: str | None = None
        self.stderr: Sequence[str] = ()

    def to_dict(self) -> dict[str, object]:
        return {
            "cause": self.cause,
            "text": self.text,
            "hint": self.hint,
            "used": self.used,
            "stderr": list(self.stderr),
        }


def death_of(attempt: Attempt, stderr: Sequence[str] = ()) -> Death | None:
    """None for an attempt that did not fail."""
    if attempt.outcome not in DEATHS:
        return None
    if attempt.outcome == kinds.TIMEOUT:
        death = _timeout(attempt)
    elif attempt.outcome == kinds.SPAWN_ERROR:
        death = _not_started(attempt)
    elif attempt.outcome == kinds.LOST:
        death = _lost(attempt)
    else:
        death = _memory(attempt, stderr) or _failed(attempt, stderr)
    death.used = _used(attempt)
    death.stderr = stderr
    return death


def _failed(attempt: Attempt, stderr: Sequence[str]) -> Death:
    code, error = attempt.exit_code, attempt.error or ""
    if error.startswith("used up its "):
        return Death("cpu_time", f"it {error}", "the limit is --cpu-time of the job")
    if attempt.signal is not None:
        return _killed(attempt.signal, f"killed by {signal_name(attempt.signal)}")
    if code is None:
        return Death("failed", error or "nobody has said why")
    if code == NOT_FOUND:
        return _not_found(error, stderr)
    signal = signal_in(code)
    if signal == _KILL:
        return _killed(signal, f"exit code {code}: its shell tells of SIGKILL")
    meaning = meaning_of_code(code)
    if meaning is None:
        return Death("exit_code", f"exit code {code} (the command's own; no convention gives it a meaning)")
    hint = "is it a program, and may the worker's user execute it?" if code == NOT_EXECUTABLE else None
    return Death("exit_code", f"exit code {code}: {meaning}", hint)


def _not_found(error: str, stderr: Sequence[str]) -> Death:
    """Which one the shell tells, where it was looked for its worker."""
    said = next(filter(None, map(missing_command, [error, *reversed(stderr)])), None)
    text = f"exit code {NOT_FOUND}: a command was not found" + (f": {said}" if said else "")
    if said and "/" in said:
        return Death("not_found", text, "there is no such file, as seen from the directory of the job")
    looked = re.search(_LOOKED_IN, error)
    if looked is None:
        return Death("not_found", text)
    return Death(
        "not_found", text, f"it was looked for in {looked[1]}; --env PATH=… gives a job another PATH"
    )


def without_path(error: str) -> str:
    """For a line that has to be short."""
    return re.sub(" " + _LOOKED_IN, "", error)


def _killed(signal: int, how: str) -> Death:
    if signal == _KILL:
        return Death(
            "killed",
            f"{how}; not by its worker: somebody else sent it",
            "a person, another program or a service manager; the worker saw no sign that memory ran out",
        )
    meaning = meaning_of_signal(signal)
    return Death("signal", f"{how}: {meaning}" if meaning else how)


def _memory(attempt: Attempt, stderr: Sequence[str]) -> Death | None:
    """Who ran out of memory, as far as anybody knows."""
    error = attempt.error or ""
    own = re.search(_OWN_LIMIT, error)
    if own is not None:
        return Death("out_of_memory", f"out of memory: it reached its own limit of {own[1]}", "--memory SIZE")
    few = "run fewer jobs at once, or limit them: --memory SIZE, worker start --min-free-memory"
    if kinds.NO_MEMORY in error:
        return Death("out_of_memory", "out of memory: the kernel killed it", few)
    if kinds.PERHAPS_NO_MEMORY in error:
        told = "probably out of memory: it was killed just when the kernel killed a process for that"
        return Death("out_of_memory", told, few)
    spoken = re.search(_SHORT_OF_MEMORY, " ".join([error, *stderr]), re.IGNORECASE)
    if spoken is None:
        return None
    how = f"exit code {attempt.exit_code}" if attempt.signal is None else signal_name(attempt.signal)
    within = re.search(r"while limited to ([^)]* of memory)", error)
    limit = f", while limited to {within[1]}" if within else ""
    return Death("out_of_memory", f"{how}: probably out of memory, by its last words{limit}", few)


def _timeout(attempt: Attempt) -> Death:
    told = re.match(_TIMED_OUT, attempt.error or "")
    after = f" after {told[1]}" if told else ""
    limit = f" ({told[2]})" if told and told[2] else ""
    how = ""
    if attempt.signal == _KILL:
        how = "; it did not heed SIGTERM and was killed"
    elif attempt.signal == _TERM:
        how = "; it ended at SIGTERM"
    elif attempt.exit_code is not None:
        how = f"; asked to end, it did so with exit code {attempt.exit_code}"
    return Death("timeout", f"timeout: its worker ended it{after}{limit}{how}", "--timeout of the job")


def _not_started(attempt: Attempt) -> Death:
    hint = None
    error = attempt.error or "it could not be started"
    if error.startswith(kinds.CANNOT_ENTER):
        hint = "does the machine of the worker have this directory, and may its user enter it?"
    elif "No such file" in error:
        hint = "the program or its interpreter is not on the machine of the worker"
    elif "Permission denied" in error:
        hint = "may the worker's user execute it?"
    return Death("spawn_error", error, hint)


def _lost(attempt: Attempt) -> Death:
    where = f" on {attempt.host}" if attempt.host else ""
    why = attempt.error or "its worker died"
    return Death(
        "lost",
        f"lost with its worker {attempt.worker_id or '(unknown)'}{where}: {why}",
        "how far the command had come nobody knows; the worker's own log may tell more",
    )


def _used(attempt: Attempt) -> str | None:
    """Time, processor time and memory; whether it waited or worked."""
    if attempt.started_at is None or attempt.outcome == kinds.SPAWN_ERROR:
        return None
    took = max(attempt.finished_at - attempt.started_at, 0)
    parts = [f"ran {format_run(took)}"]
    if attempt.cpu_ms is not None and (attempt.cpu_ms or took >= _LEAST_TO_JUDGE_MS):
        parts.append(
            f"used {format_duration(attempt.cpu_ms)} of processor time{_worked(attempt.cpu_ms, took)}"
        )
    if attempt.max_rss_kb is not None:
        parts.append(f"peak memory {show_size(attempt.max_rss_kb * 1024)}")
    return ", ".join(parts)


def _worked(cpu_ms: int, took: int) -> str:
    if took < _LEAST_TO_JUDGE_MS:
        return ""
    share = cpu_ms * 100 // took
    if share < 10:
        return " (it mostly waited)"
    if share > 120:
        return f" (it worked on {share / 100:.1f} cores)"
    return " (it worked all the time)" if share >= 80 else f" ({share} % of the time)"

"""What happened to a job, attempt by attempt, in words.

Whether and when it runs again is left to `explaining`.
"""

from __future__ import annotations

import re
from itertools import pairwise

from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.core.deaths import without_path
from queuectl.core.durations import format_duration, format_run
from queuectl.core.meanings import signal_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.core.job import Attempt
    from queuectl.core.situation import Situation

_FREE = (kinds.RELEASED, kinds.UNSTARTED)  # cost no attempt
MOST_TOLD = 20  # attempts; the earlier ones are counted

_CODES = {
    75: "it asks to be tried again later",
    126: "the command was found but cannot be executed",
    127: "a command was not found",
}
_SIGNALS = {
    "SIGKILL": "often for want of memory",
    "SIGSEGV": "it used memory that is not its own",
    "SIGBUS": "it used memory that is not there",
    "SIGABRT": "it gave up by itself",
    "SIGXCPU": "it used more processor time than it may",
    "SIGXFSZ": "it wrote a file larger than it may",
}
_KNOWN_START = r"(exit code [0-9]+|killed by (SIG[A-Z0-9]+|signal [0-9]+))(: )?"


def story(situation: Situation) -> list[str]:
    """A sentence for each attempt, oldest first."""
    attempts = situation.attempts
    told = [_tell(attempt, situation) for attempt in attempts[-MOST_TOLD:]]
    left_out = len(attempts) - len(told)
    if left_out:
        times = "attempt is" if left_out == 1 else "attempts are"
        told.insert(0, f"{left_out:,} earlier {times} not told here; see: queuectl show {situation.job.id}")
    return told


def ending(attempt: Attempt) -> str:
    """How it ended, short: `exit code 127 (a command was not found)`."""
    if attempt.outcome == kinds.LOST:
        return "its worker was lost"
    if attempt.outcome == kinds.TIMEOUT:
        return "timeout"
    if attempt.outcome == kinds.SPAWN_ERROR:
        return attempt.error or "it could not be started"
    if attempt.signal is not None:
        return f"killed by {_with(signal_name(attempt.signal), _SIGNALS)}"
    return attempt.outcome if attempt.exit_code is None else code_in_words(attempt.exit_code)


def code_in_words(code: int) -> str:
    meaning = _CODES.get(code)
    if meaning is None and 128 < code < 128 + 65:
        # What a shell returns when its command was killed.
        meaning = f"killed by {signal_name(code - 128)}"
    return f"exit code {code}" + (f" ({meaning})" if meaning else "")


def _with(name: str, meanings: dict[str, str]) -> str:
    return f"{name} ({meanings[name]})" if name in meanings else name


def _tell(attempt: Attempt, situation: Situation) -> str:
    started = attempt.finished_at if attempt.started_at is None else attempt.started_at
    place = "".join(
        text
        for text in (
            f" on {attempt.host}" if attempt.host else "",
            f" by worker {attempt.worker_id}" if attempt.worker_id else "",
        )
    )
    took = format_run(attempt.finished_at - started)
    return f"attempt {attempt.run}, {situation.when(started)}{place}: {_happened(attempt, took, situation)}"


def _happened(attempt: Attempt, took: str, situation: Situation) -> str:
    if attempt.outcome == kinds.SUCCEEDED:
        code = f" with {code_in_words(attempt.exit_code)}" if attempt.exit_code else ""
        return f"succeeded{code} after {took}"
    if attempt.outcome == kinds.TIMEOUT:
        limit = situation.job.timeout
        allowed = f" of {format_duration(limit)}" if limit else ""
        return f"took longer than its timeout{allowed} and was stopped after {took}{_remark(attempt)}"
    if attempt.outcome == kinds.SPAWN_ERROR:
        return f"could not be started{_remark(attempt)}"
    if attempt.outcome == kinds.CANCELLED:
        return f"was stopped after {took} because somebody cancelled the job"
    if attempt.outcome == kinds.LOST:
        return f"was lost with its worker after {took}{_remark(attempt)}"
    if attempt.outcome == kinds.RELEASED:
        return f"was ended after {took} by a planned stop of its worker, which cost no attempt"
    if attempt.outcome == kinds.UNSTARTED:
        return "was claimed but never started, which cost no attempt"
    return f"{ending(attempt)} after {took}{_remark(attempt)}"


def _remark(attempt: Attempt) -> str:
    """What the error says beyond the code or the signal: the last words of the command, as a rule."""
    rest = re.sub(_KNOWN_START, "", without_path(attempt.error or ""), count=1)
    return f": {rest}" if rest else ""


def which_attempt(situation: Situation) -> str:
    """`attempt 2 of 4`, as its retries are counted. The story counts all that there ever were."""
    job = situation.job
    anew = f" since somebody retried it (attempt {job.runs:,} in all)" if counts_anew(situation) else ""
    return f"attempt {job.attempts} of {job.max_retries + 1}{anew}"


def counts_anew(situation: Situation) -> bool:
    """Whether somebody has retried it: then its attempts are counted from 1 again."""
    numbers = [one.attempt for one in situation.attempts if one.outcome not in _FREE]
    if situation.job.state == states.PROCESSING:
        numbers.append(situation.job.attempts)
    return any(later <= earlier for earlier, later in pairwise(numbers))

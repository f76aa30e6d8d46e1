"""explain(situation) -> Explanation: why a job does not run and what would change that; how it ended and why.

Each reason is a function of the situation that finds it, or None. What happened to each attempt is told by
`stories`, the ends of jobs by `endings`, what is in the way of all jobs of a queue by `obstacles`.
"""

from __future__ import annotations

from queuectl.core import states
from queuectl.core.conditions import ANY, FAILURE
from queuectl.core.durations import format_age, format_duration
from queuectl.core.endings import end_reasons
from queuectl.core.lifecycle import backoff_of
from queuectl.core.obstacles import LASTING, PASSING
from queuectl.core.phrases import before, count, listed
from queuectl.core.runtimes import limit_in_words, percent_of
from queuectl.core.situation import Explanation, Reason
from queuectl.core.stories import ending, story, which_attempt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.core.obstacles import Finder
    from queuectl.core.situation import Parent, Situation

_MOMENTS_MS = 10_000  # a free worker takes a job that waits within these, if it is well

_WAITS_FOR = {ANY: "to end", FAILURE: "to fail for good"}


def explain(situation: Situation) -> Explanation:
    job = situation.job
    if job.state in states.TERMINAL:
        reasons = end_reasons(situation)
        verdict = f"Job {job.id} is {job.state}: {reasons[0].short}."
        return Explanation(job, verdict, reasons, story(situation))
    reasons = [reason for find in _finders(situation) if (reason := find(situation)) is not None]
    if not reasons:
        reasons = [_nothing(situation)]
    more = len(reasons) - 1
    others = "" if not more else f" (and {more} more {'reason' if more == 1 else 'reasons'})"
    state = "running" if job.state == states.PROCESSING else job.state
    verdict = f"Job {job.id} is {state}: {reasons[0].short}{others}."
    return Explanation(job, verdict, reasons, story(situation))


def _finders(situation: Situation) -> tuple[Finder, ...]:
    """What to look for, the most important first."""
    job = situation.job
    if job.state == states.PROCESSING:
        return _WHILE_IT_RUNS
    if job.state == states.BLOCKED:
        return (_held, _dependencies, _group, _time, *LASTING)
    if job.run_at > situation.now:
        return (_backoff if job.state == states.FAILED else _time, *LASTING)
    return (*LASTING, *PASSING)


# --- its time -----------------------------------------------------------------------------------------------


def _time(situation: Situation) -> Reason | None:
    due = situation.job.run_at
    if due <= situation.now:
        return None
    return Reason("time", "its time has not come", f"It is to run at {situation.when(due)}.", when=due)


def _backoff(situation: Situation) -> Reason:
    job = situation.job
    last = situation.attempts[-1] if situation.attempts else None
    how = f": {ending(last)}" if last is not None else ""
    left = max(job.max_retries + 1 - job.attempts, 0)
    policy = backoff_of(job, situation.policy.backoff)
    base = f" with base {policy.base:g}" if policy.strategy == "exponential" else ""
    waits = "" if last is None else f" {format_duration(max(job.run_at - last.finished_at, 0))} after that"
    return Reason(
        "backoff",
        "it failed and waits before it is tried again",
        f"Its {which_attempt(situation)} failed{how}. It is tried again{waits}, at "
        f"{situation.when(job.run_at)}, by {policy.strategy} backoff{base}; {count(left, 'attempt')} left.",
        remedy=f"queuectl retry {job.id}",
        when=job.run_at,
    )


# --- what blocks it -----------------------------------------------------------------------------------------


def _held(situation: Situation) -> Reason | None:
    job = situation.job
    if not job.held:
        return None
    return Reason(
        "held",
        "it is held",
        "It is held until somebody releases it.",
        remedy=f"queuectl release {job.id}",
    )


def _dependencies(situation: Situation) -> Reason | None:
    job = situation.job
    open_ones = [parent for parent in situation.parents if parent.settled is None]
    total = max(job.waits or 0, len(open_ones))
    if not total:
        return None
    named = f": {listed([_expected(parent) for parent in open_ones], total)}" if open_ones else ""
    jobs = "a job" if total == 1 else f"{total:,} jobs"
    return Reason(
        "dependency",
        f"it waits for {open_ones[0].id if len(open_ones) == 1 else jobs}",
        f"It waits for {jobs} before it{named}.",
        remedy=f"queuectl explain {open_ones[0].id}" if open_ones else f"queuectl graph {job.id} --up",
    )


def _expected(parent: Parent) -> str:
    if parent.state in states.TERMINAL:
        return f"{parent.id} ({parent.state}, of which it is told at the next turn of a worker)"
    return f"{parent.id} ({parent.state}) {_WAITS_FOR.get(parent.kind, 'to succeed')}"


def _group(situation: Situation) -> Reason | None:
    job, group = situation.job, situation.group
    if group is None or job.held or job.waits or (group.running < group.limit and not group.ahead):
        return None
    line = f", and {count(group.ahead, 'job')} of it {'is' if group.ahead == 1 else 'are'} before this one"
    return Reason(
        "group",
        f"its group {group.name} is full",
        f"Of its group {group.name} at most {group.limit:,} may run at once, and {group.running:,} "
        f"{'does' if group.running == 1 else 'do'}, or {'is' if group.running == 1 else 'are'} about to"
        f"{line if group.ahead else ''}.",
    )


# --- while nothing does -------------------------------------------------------------------------------------


def _nothing(situation: Situation) -> Reason:
    job = situation.job
    since = situation.now - max(job.run_at, job.updated_at)
    if since < _MOMENTS_MS:
        return Reason("ready", "a worker will take it at once", f"Nothing is in its way{before(situation)}.")
    return Reason(
        "ready",
        "nothing is in its way",
        f"Nothing is in its way for {format_age(since)}{before(situation)}, and yet no worker has taken it. "
        "They may wait for less load or more memory (--max-load, --min-free-memory), or not be well.",
        remedy="queuectl doctor",
    )


# --- while it runs ------------------------------------------------------------------------------------------


def _runs(situation: Situation) -> Reason:
    job = situation.job
    started = job.started_at or situation.now
    progress = "" if job.progress is None else f"; {job.progress} % done"
    said = f" ({job.progress_text})" if job.progress_text else ""
    return Reason(
        "running",
        f"worker {job.worker_id} has it",
        f"Worker {job.worker_id} has it since {situation.when(started)}, "
        f"{which_attempt(situation)}{progress}{said}{_usually(situation)}.",
    )


def _usually(situation: Situation) -> str:
    usual = situation.usual.median_ms
    return "" if usual is None else f"; its command usually takes {format_duration(usual)}"


def _owner_gone(situation: Situation) -> Reason | None:
    if situation.owner_lives:
        return None
    return Reason(
        "worker_gone",
        "its worker is gone",
        f"Its worker {situation.job.worker_id} is gone. The next worker that looks frees the job.",
        remedy=None if situation.living else "queuectl worker start",
    )


def _being_stopped(situation: Situation) -> Reason | None:
    if not situation.job.cancel_requested:
        return None
    return Reason("cancelling", "it is being stopped", "Somebody cancelled it; its worker is ending it.")


def _timeout(situation: Situation) -> Reason | None:
    job = situation.job
    if job.started_at is None or not situation.owner_lives:
        return None
    percent = percent_of(job)
    if percent is not None and (situation.usual.limit_ms(percent) or not job.timeout):
        return _timeout_by_history(situation, job.started_at, percent)
    if not job.timeout:
        return None
    limit = job.started_at + job.timeout
    sentence = f"Its timeout of {format_duration(job.timeout)} ends it at {situation.when(limit)}."
    return Reason("timeout", "its timeout runs", sentence, when=limit)


def _timeout_by_history(situation: Situation, started_at: int, percent: int) -> Reason:
    told, limit = limit_in_words(situation.usual, percent), situation.usual.limit_ms(percent)
    if limit is None:
        return Reason("timeout", "its timeout is not known yet", f"Its timeout is {told}.")
    ends = started_at + limit
    sentence = f"Its timeout of {told} ends it at about {situation.when(ends)}."
    return Reason("timeout", "its timeout runs", sentence, when=ends)


_WHILE_IT_RUNS: tuple[Finder, ...] = (_owner_gone, _being_stopped, _runs, _timeout)

"""Why a job has ended as it did, and what would run it again."""

from __future__ import annotations

from queuectl.core import exit_codes, states
from queuectl.core import outcome as kinds
from queuectl.core.conditions import ANY, FAILURE
from queuectl.core.deaths import without_path
from queuectl.core.durations import format_run
from queuectl.core.phrases import count, listed
from queuectl.core.situation import Reason
from queuectl.core.stories import code_in_words, counts_anew, ending

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.core.job import Attempt, Job
    from queuectl.core.situation import Parent, Situation

_MOST_UNTOLD = 3
_WANTED = {ANY: "end", FAILURE: "fail for good"}


def end_reasons(situation: Situation) -> list[Reason]:
    """The reason of its end first."""
    find = {states.COMPLETED: _completed, states.DEAD: _dead, states.CANCELLED: _cancelled}
    reasons = [find[situation.job.state](situation)]
    key = _key_taken(situation)
    return [*reasons, *([] if key is None else [key]), *map(_untold, situation.untold[:_MOST_UNTOLD])]


def _completed(situation: Situation) -> Reason:
    job, last = situation.job, _last(situation)
    tries = "at the first attempt" if job.runs <= 1 else f"at attempt {job.runs}"
    took = ""
    if last is not None and last.started_at is not None:
        took = f" after {format_run(last.finished_at - last.started_at)}"
    code = f" {code_in_words(job.exit_code).capitalize()} counts as success." if job.exit_code else ""
    return Reason("completed", f"it succeeded {tries}", f"It succeeded {tries}{took}{_at(situation)}.{code}")


def _dead(situation: Situation) -> Reason:
    job, last = situation.job, _last(situation)
    if last is None:
        why = job.last_error or "nobody has said why"
        return Reason(
            "dead", "it was given up", f"It was given up{_at(situation)}: {why}.", remedy=_retry(job)
        )
    crashed = last.outcome == kinds.LOST
    if crashed and (job.lost >= situation.policy.crash_limit or job.attempts <= job.max_retries):
        return Reason(
            "crash_limit",
            f"it lost its worker {count(job.lost, 'time')}",
            f"Its worker died {count(job.lost, 'time')} while it ran, so perhaps because of it. At "
            f"crash-limit (now {situation.policy.crash_limit}) it was given up{_at(situation)}.",
            remedy=_retry(job),
        )
    rule = _broken_rule(job, last)
    if rule:
        return Reason(
            "exit_code",
            "its exit code is not to be retried",
            f"Its attempt {last.run} ended with {ending(last)}, which is {rule}. "
            f"It was given up{_at(situation)}.",
            remedy=_retry(job),
        )
    since = f" since somebody retried it ({job.runs:,} attempts in all)" if counts_anew(situation) else ""
    return Reason(
        "retries_used",
        "its retries are used up",
        f"It failed {count(job.attempts, 'time')}{since}, with max retries {job.max_retries}; the last time: "
        f"{ending(last)}. It was given up{_at(situation)}.",
        remedy=_retry(job),
    )


def _broken_rule(job: Job, last: Attempt) -> str | None:
    """Which of its rules about exit codes says that there is no other try, in words."""
    code = last.exit_code if last.signal is None else 128 + last.signal
    if last.outcome != kinds.FAILED or code is None:
        return None
    retry_on, no_retry_on = job.rule("retry_on"), job.rule("no_retry_on")
    if exit_codes.verdict(code, retry_on=retry_on, no_retry_on=no_retry_on) != exit_codes.DEAD:
        return None
    if exit_codes.in_codes(no_retry_on, code):
        return f"one of its codes that are never retried ({no_retry_on})"
    return f"none of its codes that are retried ({retry_on})"


def _cancelled(situation: Situation) -> Reason:
    job = situation.job
    unmet = [parent for parent in situation.parents if parent.settled == 0]
    if job.unmet or unmet:
        return _unmet(situation, unmet)
    last = _last(situation)
    if last is not None and last.outcome == kinds.CANCELLED:
        told = f"Somebody cancelled it while it ran; it was stopped{_at(situation)}."
    elif job.last_error in (None, "cancelled", "cancelled while it waited"):
        told = f"Somebody cancelled it while it waited{_at(situation)}."
    else:
        told = f"It was cancelled{_at(situation)}: {job.last_error}."
    return Reason("cancelled", "it was cancelled", told, remedy=_retry(job))


def _unmet(situation: Situation, unmet: list[Parent]) -> Reason:
    """It comes back by itself when what went wrong before it is tried again."""
    job = situation.job
    if not unmet:
        why = job.last_error or "a job before it did not end as it had to"
        return Reason("unmet", "a job before it failed", f"It was cancelled{_at(situation)}: {why}.")
    whose = unmet[0].id if len(unmet) == 1 else "jobs before it"
    named = listed([f"{p.id} (now {p.state}) to {_WANTED.get(p.kind, 'succeed')}" for p in unmet], len(unmet))
    # A job that was to fail and did not is over. One that was cancelled may have been so because of another.
    again = next((p for p in unmet if p.state in states.RETRYABLE), None)
    do = "explain" if again is not None and again.state == states.CANCELLED else "retry"
    return Reason(
        "unmet",
        f"{whose} did not end as it needed",
        f"It waited for {named}, which did not happen, so it was cancelled{_at(situation)}. "
        + ("It waits again when that is tried again." if again else "It can no longer happen."),
        remedy=None if again is None else f"queuectl {do} {again.id}",
    )


def _key_taken(situation: Situation) -> Reason | None:
    job, holder = situation.job, situation.holder
    if holder is None:
        return None
    id, state = holder
    return Reason(
        "unique",
        "another job has its unique key",
        f"Job {id} ({state}) has the same unique key {job.unique_key!r}: until it has ended, this job cannot "
        "be tried again, nor another with this key be enqueued.",
        remedy=f"queuectl cancel {id}",
    )


def _untold(notification: Job) -> Reason:
    """Somebody wanted to know of its end, and does not yet, or never will."""
    id, state = notification.id, notification.state
    if state in states.RETRYABLE:
        why = f": {without_path(notification.last_error)}" if notification.last_error else ""
        return Reason(
            "notification",
            "nobody was told of it",
            f"The notification {id} about it is {state}{why}.",
            remedy=_retry(notification),
        )
    return Reason(
        "notification",
        "somebody is yet to be told of it",
        f"The notification {id} about it is {state}: nobody has been told yet.",
        remedy=f"queuectl explain {id}",
    )


def _last(situation: Situation) -> Attempt | None:
    return situation.attempts[-1] if situation.attempts else None


def _at(situation: Situation) -> str:
    ended = situation.job.finished_at
    return "" if ended is None else f", {situation.when(ended)}"


def _retry(job: Job) -> str:
    return f"queuectl retry {job.id}"

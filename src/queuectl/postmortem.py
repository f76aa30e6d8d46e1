"""The death reports of a job's attempts: fetches the last words of each; the wording is `core.deaths`'.

Made when somebody looks, out of what is stored anyway.
"""

from __future__ import annotations

from queuectl.core.deaths import DEATHS, death_of
from queuectl.core.lastlines import last_lines
from queuectl.core.states import COMPLETED
from queuectl.outputs import is_short, stored_output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuectl.core.deaths import Death
    from queuectl.core.job import Attempt, Job
    from queuectl.core.situation import Explanation
    from queuectl.queue import Queue

__all__ = ["death_of_explained", "deaths_of", "explanation_document", "last_death"]


def last_death(queue: Queue, job: Job, attempts: Sequence[Attempt]) -> tuple[Attempt, Death] | None:
    """Of the last attempt that failed, if any has."""
    for attempt in reversed(attempts):
        if attempt.outcome in DEATHS:
            death = death_of(attempt, _last_words(queue, job, attempt))
            assert death is not None
            return attempt, death
    return None


def deaths_of(queue: Queue, job: Job, attempts: Sequence[Attempt]) -> dict[int, Death]:
    """By the number of each attempt that failed. Of earlier ones no file is read, however many there are."""
    found = {}
    last = last_death(queue, job, attempts)
    for attempt in attempts:
        if last is not None and attempt is last[0]:
            found[attempt.run] = last[1]
            continue
        stderr = last_lines(stored_output(queue, job, attempt)) if is_short(attempt) else []
        death = death_of(attempt, stderr)
        if death is not None:
            found[attempt.run] = death
    return found


def death_of_explained(queue: Queue, explained: Explanation) -> tuple[Attempt, Death] | None:
    """What belongs to an explanation: of a job that has failed, not of one that got over it."""
    job = explained.job
    return None if job.state == COMPLETED else last_death(queue, job, queue.attempts(job))


def explanation_document(explained: Explanation, died: tuple[Attempt, Death] | None) -> dict[str, object]:
    report = None if died is None else {"attempt": died[0].run, **died[1].to_dict()}
    return {**explained.to_dict(), "report": report}


def _last_words(queue: Queue, job: Job, attempt: Attempt) -> list[str]:
    try:
        return last_lines(stored_output(queue, job, attempt))
    except OSError:  # the log cannot be read by us; the rest is worth telling all the same
        return []

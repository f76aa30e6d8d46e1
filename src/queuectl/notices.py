"""Who was told of the end of a job, and whether anybody could be: looks over a Queue.

Telling itself is done by the store (`store.notices`) and by the workers: a notification is a job.
"""

from __future__ import annotations

from queuectl.core.notices import NOBODY, QUEUE, read_rule
from queuectl.core.states import TERMINAL
from queuectl.core.times import iso

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuectl.core.job import Job
    from queuectl.queue import Queue

__all__ = ["described", "documents", "notifications", "others_are_told", "wishes_in_words"]

_MOST = 20  # of one job: who retries it by hand a hundred times wants to see the last ones


def notifications(queue: Queue, job: Job) -> Sequence[Job]:
    """The jobs that tell of the ends of this one, the latest first."""
    return queue.store.notices().about(job.id, limit=_MOST)


def documents(queue: Queue, job: Job) -> dict[str, object]:
    """The same as JSON; nothing if there are none."""
    found = [
        {
            "id": told.id,
            "state": told.state,
            "attempts": told.attempts,
            "created_at": iso(told.created_at),
            "finished_at": iso(told.finished_at),
            "last_error": told.last_error,
        }
        for told in notifications(queue, job)
    ]
    return {"notifications": found} if found else {}


def described(queue: Queue, job: Job) -> list[tuple[str, object]]:
    """What there is to show of it, by name, in words."""
    told = [
        f"{one.id} {one.state}{'' if one.last_error is None else f' ({one.last_error})'}"
        for one in notifications(queue, job)
    ]
    return [
        ("Tells of", job.about),
        ("Reads", None if job.input is None else f"{len(job.input.encode()):,} bytes on its stdin"),
        ("Notify", wishes_in_words(job.wishes())),
        ("Notified", ", ".join(told)),
    ]


def wishes_in_words(wishes: dict[str, object]) -> str:
    """Who is told of ends, and of which; empty if nobody has said."""
    command, ends = wishes.get("notify"), wishes.get("notify_on")
    if command == NOBODY[0]:
        return "nobody"
    on = " or ".join(map(str, ends)) if isinstance(ends, list) and len(ends) < len(TERMINAL) else ""
    on = "any end" if isinstance(ends, list) and not on else on
    return " ".join([*([str(command)] if command else []), *([f"on {on}"] if on else [])])


def others_are_told(queue: Queue, queues: Sequence[str] | None) -> bool:
    """Whether a worker for these queues leaves notifications to others, and there may be some."""
    if queues is None or QUEUE in queues:
        return False
    rules = queue.store.queues().all() if queue.store.has_queue_rules() else []
    return queue.settings.notify is not None or any(read_rule(rule.notify).command for rule in rules)

"""What one does with whole queues: look at them, lay down rules, pause, drain.

Single jobs are left to `queue`; that the rules are kept, to the store's claim and to `enqueue`.
"""

from __future__ import annotations

from queuectl import doorbell
from queuectl.app import living_workers
from queuectl.core import states
from queuectl.core.dealing import queue_names
from queuectl.core.durations import plain_number
from queuectl.core.job import DEFAULT_QUEUE
from queuectl.core.queue_rules import QueueRule, is_paused, to_dict
from queuectl.core.queue_spec import check_reason, read_changes
from queuectl.core.spec import check_queue
from queuectl.errors import InvalidInput, NotFound
from queuectl.store.messages import JobFilter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from queuectl.queue import Queue
    from queuectl.store.messages import Worker

__all__ = [
    "QueueView",
    "configure",
    "drain",
    "emptying",
    "find",
    "is_draining",
    "look",
    "overview",
    "pause",
    "resting",
    "resume",
]

_UNFINISHED = tuple(state for state in states.ALL if state not in states.TERMINAL)
_MOST_NAMES = 10  # in a message


class QueueView:
    """A queue at one moment: its jobs, its rule, its workers."""

    __slots__ = ("counts", "now", "oldest", "rule", "workers")

    def __init__(
        self, rule: QueueRule, counts: Mapping[str, int], oldest: int | None, *, workers: int, now: int
    ) -> None:
        self.rule = rule
        self.counts = {state: counts.get(state, 0) for state in states.ALL}
        self.oldest = oldest  # since when the job waits that waits longest; None: none does
        self.workers = workers  # that take its jobs, if nothing forbids it
        self.now = now

    @property
    def name(self) -> str:
        return self.rule.name

    @property
    def paused(self) -> bool:
        return is_paused(self.rule, self.now)

    @property
    def draining(self) -> bool:
        return bool(self.rule.draining)

    @property
    def running(self) -> int:
        return self.counts[states.PROCESSING]

    @property
    def unfinished(self) -> int:
        return sum(self.counts[state] for state in _UNFINISHED)

    @property
    def waiting_ms(self) -> int | None:
        return None if self.oldest is None else max(self.now - self.oldest, 0)

    def to_dict(self) -> dict[str, object]:
        waiting = self.waiting_ms
        return {
            **to_dict(self.rule),
            "paused": self.paused,
            "jobs": self.counts,
            "running": self.running,
            "oldest_waiting_seconds": None if waiting is None else plain_number(round(waiting / 1000, 1)),
            "workers": self.workers,
        }


def overview(queue: Queue) -> list[QueueView]:
    """Every queue that has jobs, a rule, or a worker that names it."""
    now = queue.clock.now()
    part = queue.store.queues()
    rules = {rule.name: rule for rule in part.all()}
    depths = part.depths()
    oldest = part.oldest(depths)
    serving = _serving(queue)
    names = rules.keys() | depths.keys() | {name for worker in serving for name in _named(worker)}
    views = []
    for name in sorted(names):
        rule, counts = rules.get(name) or QueueRule(name), depths.get(name, {})
        views.append(QueueView(rule, counts, oldest.get(name), workers=_count(serving, name), now=now))
    return views


def look(queue: Queue, name: str) -> QueueView:
    """One queue, also if nobody has used it yet."""
    return _look(queue, check_queue(name), _serving(queue))


def find(queue: Queue, name: str) -> QueueView:
    """One queue that somebody uses, or NotFound, which names the nearest."""
    serving = _serving(queue)
    view = _look(queue, check_queue(name), serving)
    used = view.rule.updated_at or any(view.counts.values()) or name == DEFAULT_QUEUE
    if not (used or any(name in _named(worker) for worker in serving)):
        raise _not_found(queue, name)
    return view


def _look(queue: Queue, name: str, serving: Sequence[Worker]) -> QueueView:
    rule = queue.store.queues().get(name) or QueueRule(name)
    stats = queue.stats(queue=name)
    now = queue.clock.now()
    return QueueView(rule, stats.counts, stats.oldest_pending, workers=_count(serving, name), now=now)


def checked_rules(name: str, given: Mapping[str, object]) -> dict[str, object]:
    """The columns to change, for who wants to know before there is a store."""
    check_queue(name)
    changes = read_changes(given)
    if not changes:
        raise InvalidInput("nothing to set", "give a limit or a default, like --concurrency 4")
    return changes


def configure(queue: Queue, name: str, **given: object) -> QueueRule | None:
    """Lay down rules, as people write them: concurrency=4, rate="100/min", burst, timeout="10m", max_retries,
    backoff_strategy, backoff_base, backoff_max, retry_delay. None, or the word none, removes one.

    The rule as it is then; None if nothing is left of it.
    """
    changes = checked_rules(name, given)
    rule = queue.store.queues().set(name, changes, queue.clock.now())
    doorbell.announce(queue.store, doorbell.JOB)
    return rule


def pause(queue: Queue, name: str, *, reason: str | None = None, until: int | None = None) -> QueueRule:
    """Start no more of its jobs, until then or until `resume`; those that run go on."""
    now = queue.clock.now()
    if until is not None and until <= now:
        raise InvalidInput("the end of the pause is not in the future", "give a later time, like +2h")
    rule = queue.store.queues().pause(check_queue(name), reason=check_reason(reason), until=until, now=now)
    doorbell.announce(queue.store, doorbell.JOB)
    return rule


def resume(queue: Queue, name: str) -> QueueView:
    """End a pause and a draining; the queue as it was before."""
    before = find(queue, name)
    queue.store.queues().resume(name, queue.clock.now())
    doorbell.announce(queue.store, doorbell.JOB)
    return before


def drain(queue: Queue, name: str) -> QueueRule:
    """Take no new jobs until `resume`; what is there is done."""
    return queue.store.queues().drain(check_queue(name), queue.clock.now())


def resting(queue: Queue, name: str | None = None) -> list[QueueRule]:
    """The rules of the queues, or of this one, that are paused or take no new jobs now."""
    now = queue.clock.now()
    rules = queue.store.queues().all() if queue.store.has_queue_rules() else []
    return [rule for rule in rules if (is_paused(rule, now) or rule.draining) and name in (None, rule.name)]


def is_draining(queue: Queue, name: str) -> bool:
    rule = queue.store.queues().get(name)
    return rule is not None and bool(rule.draining)


def emptying(queue: Queue, name: str, *, timeout: float | None = None) -> Iterator[int]:
    """How many of its jobs have not ended, again whenever that may have changed, until none is left."""
    # Named states let the store use its indexes instead of walking over what has ended.
    return queue.watch(JobFilter(queue=name, states=_UNFINISHED), timeout=timeout)


def _serving(queue: Queue) -> list[Worker]:
    """The workers that will go on: those which stop take no new jobs."""
    return [worker for worker in living_workers(queue.store) if worker.control is None]


def _named(worker: Worker) -> Sequence[str]:
    return queue_names(worker.queues) if worker.queues else ()


def _count(serving: Sequence[Worker], name: str) -> int:
    return sum(worker.serves(name) for worker in serving)


def _not_found(queue: Queue, name: str) -> NotFound:
    from difflib import get_close_matches

    known = [view.name for view in overview(queue)]
    if not known:
        return NotFound(f"there is no queue {name!r}", "no queue has jobs or rules yet")
    near = get_close_matches(name, known, n=1)
    if near:
        return NotFound(f"there is no queue {name!r}", f"did you mean {near[0]}?")
    more = f" and {len(known) - _MOST_NAMES} more" if len(known) > _MOST_NAMES else ""
    return NotFound(f"there is no queue {name!r}", "the queues are: " + ", ".join(known[:_MOST_NAMES]) + more)

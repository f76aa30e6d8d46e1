"""What its queue and the workers put in the way of a job: what lasts, and what passes by itself.

Each is a function of the situation that finds a reason, or None. What the job itself waits for is left to
`explaining`.
"""

from __future__ import annotations

from queuectl.core.phrases import before, count, listed
from queuectl.core.queue_rules import is_paused, rate_of
from queuectl.core.situation import Reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from queuectl.core.situation import Candidate, Situation

    Finder = Callable[[Situation], Reason | None]


# --- what stands in the way of all jobs like it -------------------------------------------------------------


def _paused(situation: Situation) -> Reason | None:
    rule = situation.rule
    if rule is None or not is_paused(rule, situation.now):
        return None
    since = f" since {situation.when(rule.paused_at)}" if rule.paused_at is not None else ""
    until = (
        ", until somebody resumes it"
        if rule.paused_until is None
        else f", until {situation.when(rule.paused_until)}"
    )
    why = f": {rule.pause_reason}" if rule.pause_reason else ""
    return Reason(
        "paused",
        f"its queue {rule.name} is paused",
        f"Its queue {rule.name} is paused{since}{until}{why}.",
        remedy=f"queuectl queue resume {rule.name}",
        when=rule.paused_until,
    )


def _workers(situation: Situation) -> Reason | None:
    queue = situation.job.queue
    if not situation.living:
        return Reason(
            "no_worker",
            "no worker is running",
            "No worker is running, on any machine.",
            remedy="queuectl worker start",
        )
    if not situation.candidates:
        return Reason(
            "not_served",
            f"no worker serves its queue {queue}",
            f"Of {count(situation.living, 'running worker')} none serves its queue {queue}.",
            remedy=f"queuectl worker start --queue {queue}",
        )
    if _able(situation):
        return None
    whole = "The only worker that serves" if len(situation.candidates) == 1 else "All workers that serve"
    return Reason(
        "workers_stopping",
        f"the workers of its queue {queue} are stopping",
        f"{whole} its queue {queue} will take no more jobs: a stop was asked for.",
        remedy="queuectl worker start",
    )


def _needs(situation: Situation) -> Reason | None:
    needs = _needed(situation)
    able = _able(situation)
    if not needs or not able or any(worker.has(needs) for worker in able):
        return None
    short_of = [
        f"{name}={count} (the most is {max(worker.provides.get(name, 0) for worker in able)})"
        for name, count in needs.items()
        if not any(worker.provides.get(name, 0) >= count for worker in able)
    ] or [f"all of {situation.job.needs} at once"]
    return Reason(
        "needs",
        "no worker provides what it needs",
        f"No worker of its queue {situation.job.queue} provides {' and '.join(short_of)}.",
        remedy=f"queuectl worker start --provides {situation.job.needs}",
    )


LASTING: tuple[Finder, ...] = (_paused, _workers, _needs)


# --- what will pass by itself -------------------------------------------------------------------------------


def _concurrency(situation: Situation) -> Reason | None:
    rule = situation.rule
    if rule is None or rule.concurrency is None or situation.running < rule.concurrency:
        return None
    return Reason(
        "concurrency",
        f"as many jobs of its queue {rule.name} run as may",
        f"Of its queue {rule.name} at most {rule.concurrency:,} may run at once, and {situation.running:,} "
        f"{'does' if situation.running == 1 else 'do'}{before(situation)}.",
        remedy=f"queuectl queue set {rule.name} --concurrency {situation.running + 1}",
    )


def _rate(situation: Situation) -> Reason | None:
    rule = situation.rule
    rate = None if rule is None else rate_of(rule)
    if rule is None or rate is None:
        return None
    from queuectl.core.rates import Rate, allow, next_at

    wanted = situation.ahead + 1  # those before it are let go first
    granted, spent = allow(rate, rule.rate_spent or 0, situation.now, wanted)
    if granted >= wanted:
        return None
    due = next_at(rate, spent, situation.now) + rate.time_ns(wanted - granted - 1) // 1_000_000
    return Reason(
        "rate",
        f"its queue {rule.name} keeps to a rate",
        f"Its queue {rule.name} starts at most {rate}{before(situation)}: not before {situation.when(due)}.",
        remedy=f"queuectl queue set {rule.name} --rate {Rate(2 * rate.count, rate.per_ms)}",
        when=due,
    )


def _resources(situation: Situation) -> Reason | None:
    needs = _needed(situation)
    enough = [worker for worker in _able(situation) if worker.has(needs)]
    if not needs or not enough or any(worker.has(needs, free=True) for worker in enough):
        return None
    used = [f"{name}={count} on {worker.id}" for worker in enough for name, count in worker.used.items()]
    return Reason(
        "resources",
        "other jobs have what it needs",
        f"It needs {situation.job.needs}, but other jobs have {listed(used, len(used))}.",
    )


def _busy(situation: Situation) -> Reason | None:
    workers = _able(situation)
    slots, running = sum(worker.slots for worker in workers), sum(worker.running for worker in workers)
    if not workers or any(worker.running < worker.slots for worker in workers):
        return None
    return Reason(
        "busy",
        "all workers of its queue are busy",
        f"{count(running, 'job')} {'runs' if running == 1 else 'run'} on the {count(slots, 'slot')} of "
        f"{count(len(workers), 'worker')}{before(situation)}.",
        remedy="queuectl worker start"
        + ("" if situation.job.queue == "default" else f" --queue {situation.job.queue}"),
    )


PASSING: tuple[Finder, ...] = (_concurrency, _rate, _resources, _busy)


def _able(situation: Situation) -> list[Candidate]:
    """The workers that will take more jobs of its queue."""
    return [worker for worker in situation.candidates if not worker.stopping]


def _needed(situation: Situation) -> dict[str, int]:
    if not situation.job.needs:
        return {}
    from queuectl.core.amounts import parse_needs

    return parse_needs(situation.job.needs)

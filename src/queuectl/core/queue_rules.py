"""What a queue lays down for its jobs: how many at once, how fast, a pause, defaults.

Decides only. Where the rules are kept, who counts the running jobs, and that two workers do not spend the
same tokens at once, is left to the store.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any

    from queuectl.core.job import NewJob
    from queuectl.core.rates import Rate

QUEUE_COLUMNS = (
    "name",
    "concurrency",
    "rate",
    "burst",
    "rate_spent",
    "timeout",
    "max_retries",
    "backoff_strategy",
    "backoff_base",
    "backoff_max",
    "retry_delay",
    "paused_at",
    "paused_until",
    "pause_reason",
    "draining",
    "updated_at",
    "notify",
    "timeout_percent",
)
DEFAULTS = ("timeout", "max_retries", "backoff_strategy", "backoff_base", "backoff_max", "retry_delay")
_RETRIES = {"max_retries", "max_attempts", "max_tries"}  # three names of the same thing

PAUSED, CONCURRENCY, RATE = "paused", "concurrency", "rate"  # why not all may start


class QueueRule:
    """A row of the table `queues`. None: nothing is laid down. Times and durations are milliseconds."""

    __slots__ = QUEUE_COLUMNS

    name: str
    concurrency: int | None  # of its jobs at once, on all machines
    rate: str | None  # as `core.rates` reads it
    burst: int | None
    rate_spent: int | None  # the bucket of `core.rates`, in nanoseconds
    timeout: int | None
    max_retries: int | None
    backoff_strategy: str | None
    backoff_base: float | None
    backoff_max: int | None
    retry_delay: int | None
    paused_at: int | None
    paused_until: int | None
    pause_reason: str | None
    draining: int | None  # 1: takes no new jobs
    updated_at: int
    notify: str | None  # who is told of the end of its jobs
    timeout_percent: int | None  # of what a command usually takes; then `timeout` is None

    def __init__(self, name: str, updated_at: int = 0) -> None:
        for column in QUEUE_COLUMNS:
            setattr(self, column, None)
        self.name = name
        self.updated_at = updated_at


def rule_from_row(row: Sequence[Any]) -> QueueRule:
    """From the columns in the order of QUEUE_COLUMNS."""
    rule = QueueRule.__new__(QueueRule)
    for column, value in zip(QUEUE_COLUMNS, row, strict=True):
        setattr(rule, column, value)
    return rule


class Allowance:
    """What a queue grants at one moment."""

    __slots__ = ("count", "next_at", "reason", "spent")

    def __init__(self, count: int, spent: int | None, next_at: int | None, reason: str | None) -> None:
        self.count = count  # so many jobs may start
        self.spent = spent  # rate_spent from now on, None without a rate
        self.next_at = next_at  # when asking again helps by itself, None: only a finishing job does
        self.reason = reason  # why it is not all that was wanted


def is_paused(rule: QueueRule, now: int) -> bool:
    return rule.paused_at is not None and (rule.paused_until is None or rule.paused_until > now)


def allowance(rule: QueueRule, *, running: int, now: int, wanted: int) -> Allowance:
    """How many of the wanted jobs may start now. Store `spent` if it is not what it was."""
    spent = None if rule.rate is None else rule.rate_spent
    if is_paused(rule, now):
        return Allowance(0, spent, rule.paused_until, PAUSED)
    room = wanted if rule.concurrency is None else min(wanted, rule.concurrency - running)
    room = max(room, 0)
    short = CONCURRENCY if room < wanted else None
    rate = rate_of(rule)
    if rate is None or not room:
        return Allowance(room, spent, None, short)
    from queuectl.core.rates import allow, next_at

    granted, spent = allow(rate, spent or 0, now, room)
    if granted < room:
        return Allowance(granted, spent, next_at(rate, spent, now), RATE)
    return Allowance(granted, spent, None, short)


def rate_of(rule: QueueRule) -> Rate | None:
    """Its rate as a bucket wants it; refuses a burst that does not fit."""
    if rule.rate is None:
        return None
    from queuectl.core.rates import parse_rate

    return parse_rate(rule.rate, f"rate of queue {rule.name}", burst=rule.burst)


def renew_bucket(rule: QueueRule, now: int) -> None:
    """After a change of the rate: what was spent under the old one stays spent, but a debt that is longer
    than the new bucket is deep would hold up jobs that the new rate allows."""
    rate = rate_of(rule)
    if rate is None:
        rule.rate_spent = None
    elif rule.rate_spent is not None:
        rule.rate_spent = min(rule.rate_spent, now * 1_000_000 + rate.time_ns(rate.burst))


def is_empty(rule: QueueRule) -> bool:
    """Whether nothing is laid down, so that the rule need not be kept."""
    return all(getattr(rule, name) is None for name in QUEUE_COLUMNS if name not in ("name", "updated_at"))


def apply_defaults(job: NewJob, rule: QueueRule, *, given: Collection[str] = ()) -> None:
    """Fill in what a new job has not said itself. `given` are the fields that it came with: a number of
    retries it always has, its own or the configured one."""
    if rule.timeout_percent is not None and job.timeout is None:
        _limit_by_history(job, rule.timeout_percent)
    for name in DEFAULTS:
        default = getattr(rule, name)
        if default is None:
            continue
        open_ = not _RETRIES.intersection(given) if name == "max_retries" else getattr(job, name) is None
        if open_:
            setattr(job, name, default)


def _limit_by_history(job: NewJob, percent: int) -> None:
    from queuectl.core.conditions import conditions
    from queuectl.core.job import PERCENT

    conditions(job).rules.setdefault(PERCENT, percent)


def _told(rule: QueueRule) -> dict[str, object]:
    from queuectl.core.notices import read_rule

    return {"notify": None, "notify_on": None, **read_rule(rule.notify).to_dict()}


def to_dict(rule: QueueRule) -> dict[str, object]:
    """As every interface shows it: ISO times, durations in seconds. The bucket is nobody's business."""
    from queuectl.core.durations import plain_number, seconds
    from queuectl.core.times import iso

    return {
        "name": rule.name,
        "concurrency": rule.concurrency,
        "rate": rule.rate,
        "burst": rule.burst,
        "timeout": seconds(rule.timeout),
        "timeout_percent": rule.timeout_percent,
        "max_retries": rule.max_retries,
        "backoff_strategy": rule.backoff_strategy,
        "backoff_base": plain_number(rule.backoff_base),
        "backoff_max": seconds(rule.backoff_max),
        "retry_delay": seconds(rule.retry_delay),
        "paused_at": iso(rule.paused_at),
        "paused_until": iso(rule.paused_until),
        "pause_reason": rule.pause_reason,
        "draining": bool(rule.draining),
        **_told(rule),
    }

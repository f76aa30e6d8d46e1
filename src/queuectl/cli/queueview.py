"""Queues on the screen: a row for each, or everything about one.

What there is to tell is left to `queues`.
"""

from __future__ import annotations

from queuectl.cli.output import plural, print_facts, print_table
from queuectl.core.durations import format_age, format_duration, plain_number
from queuectl.core.notices import read_rule
from queuectl.core.states import ALL
from queuectl.core.times import describe_when
from queuectl.notices import wishes_in_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from queuectl.core.queue_rules import QueueRule
    from queuectl.queues import QueueView

_COUNTED = ("pending", "scheduled", "failed", "blocked", "dead")
_HEADER = (
    *("QUEUE", "STATE", "RUNNING", *(state.upper() for state in _COUNTED)),
    *("OLDEST", "WORKERS", "LIMITS"),
)


def print_queues(views: Iterable[QueueView]) -> None:
    # What waits where, and for whom: zeros in these say more than the limits, which `queue show` has too.
    vital = ("RUNNING", *(state.upper() for state in _COUNTED), "WORKERS")
    print_table(_HEADER, (_row(view) for view in views), spare=("OLDEST", "LIMITS", "WORKERS"), vital=vital)


def _row(view: QueueView) -> tuple[str, ...]:
    waiting = view.waiting_ms
    return (
        view.name,
        state_of(view),
        str(view.running),
        *(str(view.counts[state]) for state in _COUNTED),
        "-" if waiting is None else format_age(waiting),
        str(view.workers),
        ", ".join(_limits(view.rule)) or "-",
    )


def state_of(view: QueueView) -> str:
    words = ["paused"] * view.paused + ["draining"] * view.draining
    return " ".join(words) or "open"


def print_queue(view: QueueView) -> None:
    rule, now, waiting = view.rule, view.now, view.waiting_ms
    facts = [
        ("Queue", view.name),
        ("State", state_of(view)),
        ("Paused since", describe_when(rule.paused_at, now_ms=now) if view.paused and rule.paused_at else ""),
        ("Paused until", until(rule, now) if view.paused else ""),
        ("Reason", rule.pause_reason if view.paused else ""),
        (
            "Jobs",
            ", ".join(f"{view.counts[state]:,} {state}" for state in ALL if view.counts[state]) or "none",
        ),
        ("Oldest waiting", "" if waiting is None else format_age(waiting)),
        ("Workers", view.workers),
        ("Concurrency", "any number" if rule.concurrency is None else f"{rule.concurrency:,} at once"),
        ("Rate", _rate(rule) or "any"),
        ("Job defaults", ", ".join(_defaults(rule)) or "as configured"),
        ("Told of ends", wishes_in_words(read_rule(rule.notify).to_dict())),
    ]
    print_facts(facts)


def until(rule: QueueRule, now: int) -> str:
    if rule.paused_until is None:
        return "somebody resumes it"
    return describe_when(rule.paused_until, now_ms=now)


def rules_in_words(rule: QueueRule | None) -> str:
    """What is laid down, in one line; empty if nothing is."""
    return "" if rule is None else ", ".join([*_limits(rule), *_defaults(rule), *_wishes(rule)])


def _wishes(rule: QueueRule) -> list[str]:
    words = wishes_in_words(read_rule(rule.notify).to_dict())
    return [f"notify {words}"] if words else []


def _limits(rule: QueueRule) -> list[str]:
    return [
        *([] if rule.concurrency is None else [f"{rule.concurrency:,} at once"]),
        *([] if rule.rate is None else [_rate(rule)]),
    ]


def _rate(rule: QueueRule) -> str:
    if rule.rate is None or rule.burst is None:
        return rule.rate or ""
    return f"{rule.rate} (burst {rule.burst:,})"


def _defaults(rule: QueueRule) -> list[str]:
    parts = [
        None if rule.timeout is None else f"timeout {format_duration(rule.timeout)}",
        None if rule.timeout_percent is None else f"timeout {rule.timeout_percent}% of the usual run time",
        None if rule.max_retries is None else _retries(rule.max_retries),
        None if rule.backoff_strategy is None else f"{rule.backoff_strategy} backoff",
        None if rule.backoff_base is None else f"backoff base {plain_number(rule.backoff_base)}",
        None if rule.backoff_max is None else f"backoff at most {format_duration(rule.backoff_max)}",
        None if rule.retry_delay is None else f"retry delay {format_duration(rule.retry_delay)}",
    ]
    return [part for part in parts if part]


def _retries(count: int) -> str:
    return "1 retry" if count == 1 else f"{count:,} retries" if count else "no retries"


def running_in_words(view: QueueView) -> str:
    return plural(view.running, "running job") + (" goes on" if view.running == 1 else " go on")

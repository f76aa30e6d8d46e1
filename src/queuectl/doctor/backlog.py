"""Jobs that wait, and whether anybody will ever take them: pauses, limits, resources, dead ends, schedules.

Who counts as living is left to `workforce`.
"""

from __future__ import annotations

import json
from shlex import quote

from queuectl.core.amounts import fits, parse_needs, parse_provides
from queuectl.core.durations import format_age
from queuectl.core.queue_rules import is_paused
from queuectl.errors import InvalidInput
from queuectl.store import health
from queuectl.store.health import NOTE, OK, WARNING, Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from queuectl.core.queue_rules import QueueRule
    from queuectl.core.schedules import Schedule
    from queuectl.store.health import Trapped, Waiting
    from queuectl.store.messages import Worker

    Rules = Mapping[str, QueueRule]

_WAITS_LONG_MS = 60_000
_HELD_LONG_MS = 7 * 86_400_000
_LATE_MS = 300_000
_MOST_TOLD = 20


def waiting(queues: Sequence[Waiting], living: Sequence[Worker], rules: Rules, now: int) -> list[Finding]:
    """What waits although there are workers."""
    found = [
        finding
        for queue in queues
        if (finding := _paused(queue, rules, now) or _waiting(queue, living, rules, now)) is not None
    ]
    if not living:
        return found  # said of all of them
    jobs = health.count(sum(queue.jobs for queue in queues), "job")
    return found[:_MOST_TOLD] or [Finding(OK, "jobs", f"{jobs} waiting, none for long")]


def _said(queue: Waiting, now: int) -> str:
    needing = f" for {queue.needs}" if queue.needs else ""
    age = format_age(max(now - queue.oldest, 0))
    return f"queue {queue.queue}: {health.count(queue.jobs, 'job')} waiting{needing}, the oldest for {age}"


def _paused(queue: Waiting, rules: Rules, now: int) -> Finding | None:
    rule = rules.get(queue.queue)
    if rule is None or not is_paused(rule, now) or rule.paused_until is not None:
        return None
    since = format_age(max(now - (rule.paused_at or now), 0))
    reason = f": {rule.pause_reason}" if rule.pause_reason else ""
    return Finding(
        WARNING,
        "jobs",
        _said(queue, now),
        why=f"the queue has been paused for {since}, without an end{reason}",
        mend=f"queuectl queue resume {quote(queue.queue)}",
    )


def _waiting(queue: Waiting, living: Sequence[Worker], rules: Rules, now: int) -> Finding | None:
    if not living:
        return None
    serving = [worker for worker in living if worker.serves(queue.queue)]
    what, name = _said(queue, now), quote(queue.queue)
    if not serving:
        why = "no living worker takes jobs of this queue"
        return Finding(WARNING, "jobs", what, why=why, mend=f"queuectl worker start --queue {name}")
    if queue.needs and not any(provides(worker, queue.needs) for worker in serving):
        mend = f"queuectl worker start --queue {name} --provides {quote(queue.needs)}"
        return Finding(WARNING, "jobs", what, why="no living worker provides what they need", mend=mend)
    rule = rules.get(queue.queue)
    if now - queue.oldest < _WAITS_LONG_MS or (rule is not None and is_paused(rule, now)):
        return None
    return _held_up(what, serving, rule)


def _held_up(what: str, serving: Sequence[Worker], rule: QueueRule | None) -> Finding:
    """There are workers that could take them."""
    if all(worker.running >= worker.concurrency for worker in serving):
        why = "all workers of this queue are busy"
        return Finding(NOTE, "jobs", what, why=why, mend="queuectl worker start --count 2")
    if rule is not None and rule.concurrency is not None:
        why = f"the queue lets {rule.concurrency} of its jobs run at once"
        mend = f"queuectl queue set {quote(rule.name)} --concurrency {rule.concurrency * 2}"
        return Finding(NOTE, "jobs", what, why=why, mend=mend)
    if rule is not None and rule.rate is not None:
        why = f"the queue lets {rule.rate} of its jobs start"
        mend = f"queuectl queue set {quote(rule.name)} --rate none"
        return Finding(NOTE, "jobs", what, why=why, mend=mend)
    if all(worker.control for worker in serving):
        return Finding(WARNING, "jobs", what, why="its workers are stopping", mend="queuectl worker start")
    why = "a worker of this queue has room and does not take it"
    return Finding(WARNING, "jobs", what, why=why, mend="queuectl worker restart")


def provides(worker: Worker, needs: str) -> bool:
    """Whether it has ever enough of everything."""
    try:
        return fits(parse_needs(needs), parse_provides(worker.provides or {}))
    except InvalidInput:
        return False  # somebody else wrote it


# --- jobs that wait for something else than a worker --------------------------------------------------------


def trapped(found: Trapped, now: int) -> list[Finding]:
    findings = []
    if found.orphans:
        id = quote(found.orphan or "")
        findings.append(
            Finding(
                WARNING,
                "jobs",
                f"{health.count(found.orphans, 'job')} blocked by jobs that are gone (like {found.orphan})",
                why="nobody will ever tell them to go on",
                mend=f"queuectl cancel {id} && queuectl retry {id}",
            )
        )
    age = now - (found.held_since or now)
    if found.held and age > _HELD_LONG_MS:
        findings.append(
            Finding(
                NOTE,
                "jobs",
                f"{health.count(found.held, 'job')} held, the first for {format_age(age)}",
                why="they wait until somebody releases them",
                mend="queuectl release --all --yes",
            )
        )
    return findings or [Finding(OK, "jobs", "no job is blocked for ever")]


# --- schedules ----------------------------------------------------------------------------------------------


def schedules(known: Sequence[Schedule], living: Sequence[Worker], rules: Rules, now: int) -> list[Finding]:
    """Those that make jobs which nobody runs, or make none."""
    active = [schedule for schedule in known if schedule.paused_at is None]
    if not active:
        return []
    if not living:
        said = f"{health.count(len(active), 'schedule')} and no worker that fires them"
        why = "their jobs are made by the workers"
        return [Finding(WARNING, "schedules", said, why=why, mend="queuectl worker start")]
    found = [finding for one in active if (finding := _schedule(one, living, rules, now)) is not None]
    return found[:_MOST_TOLD] or [
        Finding(OK, "schedules", f"{health.count(len(active), 'schedule')}, and workers for their jobs")
    ]


def _schedule(schedule: Schedule, living: Sequence[Worker], rules: Rules, now: int) -> Finding | None:
    what = f"schedule {schedule.name}"
    if schedule.next_at is None:
        mend = f"queuectl schedule rm {quote(schedule.name)}"
        return Finding(NOTE, "schedules", f"{what} never fires again", why="its times are over", mend=mend)
    if now - schedule.next_at > _LATE_MS:
        what += f" was due {format_age(now - schedule.next_at)} ago and has not fired"
        why = "workers fire it within seconds, unless something holds them up"
        return Finding(WARNING, "schedules", what, why=why, mend="queuectl worker restart")
    fields = json.loads(schedule.job)
    queue, needs = str(fields.get("queue") or "default"), fields.get("needs")
    serving = [worker for worker in living if worker.serves(queue)]
    what += f" makes jobs for queue {queue}"
    start = f"queuectl worker start --queue {quote(queue)}"
    if not serving:
        return Finding(
            WARNING, "schedules", what, why="no living worker takes jobs of this queue", mend=start
        )
    if needs and not any(provides(worker, str(needs)) for worker in serving):
        why = f"no living worker provides the {needs} that they need"
        return Finding(WARNING, "schedules", what, why=why, mend=f"{start} --provides {quote(str(needs))}")
    rule = rules.get(queue)
    if rule is not None and rule.paused_until is None and is_paused(rule, now):
        mend = f"queuectl queue resume {quote(queue)}"
        return Finding(WARNING, "schedules", what, why="it is paused, without an end", mend=mend)
    return None

"""Recurring jobs: the use cases over a queue.

They are fired by the workers, see `upkeep.scheduler`; what they are and do is said in `core.schedules`.
"""

from __future__ import annotations

import json
import os

from queuectl import doorbell
from queuectl.arriving import prepared
from queuectl.core.recurrence import next_after, parse_recurrence, upcoming
from queuectl.core.schedules import (
    Schedule,
    check_job,
    check_name,
    check_rules,
    firing_id,
    job_of,
    name_followers,
)
from queuectl.core.zones import find_zone
from queuectl.errors import InvalidInput, NotFound, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from queuectl.core.fields import Defaults
    from queuectl.core.job import Job
    from queuectl.queue import Queue


def add(
    queue: Queue,
    name: str,
    recurrence: str,
    fields: dict[str, object],
    *,
    zone: str | None = None,
    catch_up: str = "one",
    overlap: str | None = None,
    replace: bool = False,
    cwd: str | None = None,
) -> Schedule:
    """Store a schedule: `recurrence` as in cron, `fields` of its jobs as in the JSON form of `enqueue`.

    `replace` keeps what a schedule of this name has counted, and its pause.
    """
    defaults = queue.defaults(cwd=cwd)
    schedule = described(name, recurrence, fields, defaults, zone=zone, catch_up=catch_up, overlap=overlap)
    stored = queue.store.schedules()
    if not (replace and stored.replace(schedule)):
        stored.add(schedule)
    # Workers sleep until the next time that they know of.
    doorbell.announce(queue.store, doorbell.CONTROL)
    return get(queue, name)


def described(
    name: str,
    recurrence: str,
    fields: dict[str, object],
    defaults: Defaults,
    *,
    zone: str | None,
    catch_up: str,
    overlap: str | None,
) -> Schedule:
    """A schedule that is not stored yet, if there can be one like this."""
    schedule = Schedule()
    schedule.name = check_name(name)
    parsed = parse_recurrence(recurrence, local_zone() if zone is None else zone)
    schedule.recurrence, schedule.zone = parsed.text, parsed.zone
    schedule.catch_up, schedule.overlap = check_rules(catch_up, overlap)
    job = check_job(fields, schedule.overlap, defaults)
    schedule.job = json.dumps(job, ensure_ascii=False, sort_keys=True)
    schedule.next_at = next_after(parsed, defaults.now)
    schedule.paused_at = schedule.last_at = schedule.last_job = None
    schedule.fired = schedule.skipped = 0
    schedule.created_at = schedule.updated_at = defaults.now
    return schedule


def every(queue: Queue) -> list[Schedule]:
    """All of them, by name."""
    return queue.store.schedules().all()


def get(queue: Queue, name: str) -> Schedule:
    schedule = queue.store.schedules().get(name) if name.isascii() else None  # a name is
    if schedule is None:
        from difflib import get_close_matches

        near = get_close_matches(name, [other.name for other in every(queue)], n=1)
        hint = f"did you mean {near[0]}?" if near else "queuectl schedule list shows them"
        raise NotFound(f"there is no schedule {name[:60]!r}", hint)
    return schedule


def next_times(queue: Queue, schedule: Schedule, count: int) -> list[int]:
    """The next firings; of one that is paused, those that it would have. One that is late comes first."""
    now = queue.clock.now()
    if schedule.paused_at is not None:
        return upcoming(schedule.parsed(), now, count)
    if schedule.next_at is None or not count:
        return []
    return [schedule.next_at, *upcoming(schedule.parsed(), max(schedule.next_at, now), count - 1)]


def pause(queue: Queue, name: str) -> Schedule:
    """Fire no more until it is resumed. One that is paused already stays so."""
    get(queue, name)
    queue.store.schedules().pause(name, queue.clock.now())
    return get(queue, name)


def resume(queue: Queue, name: str) -> Schedule:
    """Fire again, from the next time on: what fell into the pause is not made up for."""
    schedule, now = get(queue, name), queue.clock.now()
    if queue.store.schedules().resume(name, next_after(schedule.parsed(), now), now):
        doorbell.announce(queue.store, doorbell.CONTROL)
    return get(queue, name)


def trigger(queue: Queue, name: str) -> Job:
    """Make a job of it now, also if it is paused; its times stay as they are."""
    schedule, now = get(queue, name), queue.clock.now()
    id = f"{firing_id(name, now)}-{os.urandom(3).hex()}"
    jobs = name_followers(prepared([job_of(schedule, id, queue.defaults())], queue.store))
    if not queue.store.schedules().trigger(schedule, jobs, now):
        raise Refused(f"schedule {name} was removed just now")
    doorbell.announce(queue.store, doorbell.JOB)
    return queue.get(id)


def remove(queue: Queue, name: str) -> Schedule:
    """Delete it; its jobs stay."""
    schedule = get(queue, name)
    queue.store.schedules().remove(name)
    return schedule


def local_zone(environ: Mapping[str, str] = os.environ, link: str = "/etc/localtime") -> str:
    """The IANA name of this machine's time zone; UTC if nobody has said one."""
    given = environ.get("TZ")
    if given is not None:
        try:
            return _zone_name(given.removeprefix(":") or "UTC")
        except InvalidInput:
            raise InvalidInput(
                f"the time zone here, TZ={given[:60]}, has no name that schedules could go by",
                "give one: --tz Europe/Berlin",
            ) from None
    name = os.path.realpath(link).partition("/zoneinfo/")[2]
    try:
        return _zone_name(name.removeprefix("posix/").removeprefix("right/"))
    except InvalidInput:
        return "UTC"


def _zone_name(text: str) -> str:
    name = getattr(find_zone(text), "key", "UTC")
    return "UTC" if name in ("Etc/UTC", "Etc/UCT", "Etc/Universal", "Etc/Zulu") else str(name)

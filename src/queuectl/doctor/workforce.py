"""The workers of a store, what waits for them, and the settings that they follow.

Who counts as living is left to `app`, as everywhere.
"""

from __future__ import annotations

from queuectl.app import living_workers
from queuectl.config import sources
from queuectl.core.durations import format_age
from queuectl.errors import InvalidInput, Refused
from queuectl.paths import config_file
from queuectl.store import health
from queuectl.store.health import NOTE, OK, PROBLEM, WARNING, Finding
from queuectl.transfer.rules import refuse_unfinished

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuectl.paths import Location
    from queuectl.store.api import HealthStore
    from queuectl.store.health import Waiting
    from queuectl.store.messages import Worker

_WAITS_LONG_MS = 60_000
_MOST_NAMED = 5


def look(store: HealthStore, now: int) -> list[Finding]:
    living: list[Worker] = []
    queues: list[Waiting] = []

    def workers() -> list[Finding]:
        living.extend(living_workers(store))
        queues.extend(store.waiting())
        return [*present(living, sum(queue.jobs for queue in queues)), *silent(store, living)]

    return health.look(
        "workers",
        [
            ("workers", workers),
            ("waiting jobs", lambda: backlog(queues, living, now)),
            ("settings", lambda: settings(store.stored_config())),
            ("copies", lambda: unfinished_copy(store.stored_config(), store.location)),
        ],
    )


def present(living: Sequence[Worker], jobs: int) -> list[Finding]:
    if not living:
        level = WARNING if jobs else NOTE
        what = f"no worker is running, {health.count(jobs, 'job')} waiting"
        return [Finding(level, "workers", what, why="nobody takes them", mend="queuectl worker start")]
    hosts = sorted({worker.host for worker in living})
    running = health.count(sum(worker.running for worker in living), "job")
    where = f"on {health.count(len(hosts), 'host')} ({_named(hosts)})"
    return [Finding(OK, "workers", f"{health.count(len(living), 'worker')} {where}, {running} running")]


def silent(store: HealthStore, living: Sequence[Worker]) -> list[Finding]:
    """Those whose lease is over or whose process is gone, and who are still known."""
    known = {worker.id for worker in living}
    gone = [worker for worker in store.workers() if worker.id not in known]
    if not gone:
        return []
    held = health.count(sum(len(store.claimed_by(worker.id)) for worker in gone), "job")
    names = _named([worker.id for worker in gone])
    if living:
        why, mend = "the others free its jobs within seconds", "look at its machine if this stays so"
    else:
        why, mend = "nobody is there to free its jobs", "queuectl worker start"
    what = f"{health.count(len(gone), 'worker')} died or fell silent, holding {held}: {names}"
    return [Finding(WARNING, "workers", what, why=why, mend=mend)]


def _named(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def backlog(queues: Sequence[Waiting], living: Sequence[Worker], now: int) -> list[Finding]:
    """What waits although there are workers."""
    if not living:
        return []
    found = [finding for queue in queues if (finding := _waiting(queue, living, now)) is not None]
    jobs = health.count(sum(queue.jobs for queue in queues), "job")
    return found or [Finding(OK, "jobs", f"{jobs} waiting, none for long")]


def _waiting(queue: Waiting, living: Sequence[Worker], now: int) -> Finding | None:
    serving = [worker for worker in living if worker.serves(queue.queue)]
    age = now - queue.oldest
    what = f"queue {queue.queue}: {health.count(queue.jobs, 'job')} waiting, the oldest for {format_age(age)}"
    if not serving:
        return Finding(
            WARNING,
            "jobs",
            what,
            why="no living worker takes jobs of this queue",
            mend=f"queuectl worker start --queue {queue.queue}",
        )
    if age < _WAITS_LONG_MS:
        return None
    if all(worker.running >= worker.concurrency for worker in serving):
        why = "all workers of this queue are busy"
        return Finding(NOTE, "jobs", what, why=why, mend="queuectl worker start --count 2 adds workers")
    leaving = all(worker.control for worker in serving)
    return Finding(
        WARNING,
        "jobs",
        what,
        why="its workers are stopping" if leaving else "a worker of this queue has room and does not take it",
        mend="queuectl worker start" if leaving else "queuectl worker restart; its log may say why",
    )


# --- settings -------------------------------------------------------------------------------------------


def settings(stored: dict[str, str]) -> list[Finding]:
    try:
        values = sources.load(stored)
    except InvalidInput as error:
        why = "nothing starts with settings that do not fit together"
        mend = error.hint or "queuectl config list"
        return [Finding(PROBLEM, "settings", error.message, why=why, mend=mend)]
    found = []
    if values.durability == "normal":
        found.append(
            Finding(
                WARNING,
                "settings",
                "durability = normal",
                why="a power loss can take the last moments of confirmed jobs and results along",
                mend=_undo("durability", stored, "queuectl config set durability full"),
            )
        )
    if values.shutdown:
        found.append(
            Finding(
                NOTE,
                "settings",
                "shutdown = true",
                why="every worker stops as soon as it sees it",
                mend=_undo("shutdown", stored, "queuectl worker start"),
            )
        )
    return found or [Finding(OK, "settings", "durability = full: confirmed means on the disk")]


def unfinished_copy(stored: dict[str, str], location: Location) -> list[Finding]:
    try:
        refuse_unfinished(stored, location)
    except Refused as error:
        why = "every command refuses to use half a queue"
        return [Finding(PROBLEM, "settings", error.message, why=why, mend=error.hint)]
    return []


def _undo(name: str, stored: dict[str, str], command: str) -> str:
    """Where it was set decides where it can be mended."""
    _, origin = sources.gather(stored)[name]
    if origin == sources.ENVIRONMENT:
        return "unset QUEUECTL_" + name.upper()
    return f"change it in {config_file()}" if origin == sources.FILE else command

"""The workers of a store: who is there, who has fallen silent; and the order of what is asked besides.

Who counts as living is left to `app`; what waits for them to `backlog`, settings to `weaknesses`.
"""

from __future__ import annotations

from queuectl import __version__
from queuectl.app import workers_at_work
from queuectl.doctor import backlog, limits, weaknesses
from queuectl.store import health
from queuectl.store.health import NOTE, OK, WARNING, Finding
from queuectl.store.messages import JobFilter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuectl.core.queue_rules import QueueRule
    from queuectl.store.api import HealthStore
    from queuectl.store.health import Waiting
    from queuectl.store.messages import Worker

_MOST_NAMED = 5


def look(store: HealthStore, now: int) -> list[Finding]:
    living: list[Worker] = []
    queues: list[Waiting] = []
    rules: dict[str, QueueRule] = {}

    def workers() -> list[Finding]:
        living.extend(workers_at_work(store))
        queues.extend(store.waiting())
        jobs = sum(queue.jobs for queue in queues)
        return [*present(living, jobs), *silent(store, living), *versions(living)]

    def waiting() -> list[Finding]:
        rules.update((rule.name, rule) for rule in store.queues().all())
        return backlog.waiting(queues, living, rules, now)

    return health.look(
        "workers",
        [
            ("workers", workers),
            ("waiting jobs", waiting),
            ("blocked jobs", lambda: backlog.trapped(store.trapped(), now)),
            ("schedules", lambda: backlog.schedules(store.schedules().all(), living, rules, now)),
            ("settings", lambda: weaknesses.settings(store.stored_config())),
            ("retention", lambda: weaknesses.retention(store.stored_config(), store.queues().depths())),
            ("copies", lambda: weaknesses.unfinished_copy(store.stored_config(), store.location)),
            ("clock", lambda: limits.clock(now, _newest(store))),
        ],
    )


def _newest(store: HealthStore) -> int | None:
    found = store.page(JobFilter(), limit=1, descending=True)
    return found[0].created_at if found else None


def present(living: Sequence[Worker], jobs: int) -> list[Finding]:
    if not living:
        level = WARNING if jobs else NOTE
        what = f"no worker is running, {health.count(jobs, 'job')} waiting"
        why = "nobody takes them" if jobs else "nobody would take a job"
        return [Finding(level, "workers", what, why=why, mend="queuectl worker start")]
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
        why, mend = "the others free its jobs within seconds; if this stays so", "queuectl worker restart"
    else:
        why, mend = "nobody is there to free its jobs", "queuectl worker start"
    what = f"{health.count(len(gone), 'worker')} died or fell silent, holding {held}: {names}"
    return [Finding(WARNING, "workers", what, why=why, mend=mend)]


def versions(living: Sequence[Worker]) -> list[Finding]:
    """Those that were started before the program was replaced."""
    # Programs before the fifth schema tell none; beside those that do, that is another version too.
    telling = any(worker.version for worker in living)
    others = [worker for worker in living if worker.version != __version__ and (worker.version or telling)]
    if not others:
        return []
    known = ", ".join(sorted({worker.version or "older" for worker in others}))
    what = f"{health.count(len(others), 'worker')} of another version ({known}, this is {__version__})"
    why = "they go on with the old program until they are started anew"
    return [Finding(NOTE, "workers", what, why=why, mend="queuectl worker restart")]


def _named(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")

"""Builders: jobs and policies that need no store, and jobs, workers, claims and results in a store."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

from queuectl.config.settings import Settings
from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.core.job import Job, NewJob
from queuectl.core.lifecycle import Policy, Report, decide
from queuectl.core.outcome import Outcome
from queuectl.core.rows import JOB_COLUMNS, job_from_row
from queuectl.core.spec import Defaults, job_from_fields
from queuectl.store.messages import Ask, JobFilter, Worker

if TYPE_CHECKING:
    from queuectl.store.api import Store

NOW = 1_800_000_000_000  # epoch milliseconds; 2027-01-15T08:00:00Z

_CLAIMED: dict[str, Any] = {
    "seq": 7,
    "id": "job1",
    "command": "echo hi",
    "argv": None,
    "queue": "default",
    "state": states.PROCESSING,
    "priority": 0,
    "attempts": 1,
    "max_retries": 3,
    "lost": 0,
    "runs": 1,
    "backoff_strategy": None,
    "backoff_base": None,
    "backoff_max": None,
    "retry_delay": None,
    "timeout": None,
    "run_at": NOW - 1000,
    "created_at": NOW - 1000,
    "updated_at": NOW,
    "started_at": NOW,
    "finished_at": None,
    "cwd": "/srv",
    "env": None,
    "tags": None,
    "exit_code": None,
    "signal": None,
    "last_error": None,
    "worker_id": "w1",
    "claim": "c1",
    "cancel_requested": 0,
}


def claimed_job(**fields: Any) -> Job:
    """A job as its worker holds it: claimed for its first run, unless told otherwise."""
    values = _CLAIMED | fields
    return job_from_row([values.get(name) for name in JOB_COLUMNS])


def policy(**texts: str) -> Policy:
    """The default policy; `backoff_base="3"` and so on as in `config set`."""
    return Settings({name.replace("_", "-"): text for name, text in texts.items()}).policy


def ended(kind: str, error: str | None = None) -> Outcome:
    outcome = Outcome(kind, started_at=NOW, finished_at=NOW)
    outcome.error = error
    return outcome


def short(value: object) -> str:
    """The name of a test's parameter: one line, however long or odd the value is."""
    if isinstance(value, int) and value.bit_length() > 128:
        return "huge"  # Python refuses to print it
    return ascii(value)[:40]


# --- in a store, through its protocol alone ---------------------------------------------------------------

EVERYTHING = JobFilter()
REACHABLE = tuple(state for state in states.ALL if state != states.BLOCKED)
HOST = "host1"

_tokens = count(1)


def new_job(id: str, **fields: Any) -> NewJob:
    """A job that was validated; `fields` as in NewJob."""
    job = NewJob(fields.pop("command", f"echo {id}"), fields.pop("max_retries", 3))
    job.id = id
    for name, value in fields.items():
        setattr(job, name, value)
    return job


def add(store: Store, *ids: str, now: int = NOW, **fields: Any) -> None:
    """Enqueue one job for each id, alike otherwise."""
    store.enqueue([[new_job(id, **fields) for id in ids]], now)


def described(id: str, **fields: Any) -> NewJob:
    """A job as somebody describes it, with conditions."""
    return job_from_fields({"id": id, "command": f"echo {id}", **fields}, Defaults(now=NOW))


def put(store: Store, id: str, *, now: int = NOW, **fields: Any) -> None:
    """Enqueue one such job, and let everybody know."""
    store.enqueue([[described(id, **fields)]], now)
    store.settle(now)


def state_of(store: Store, *ids: str) -> list[str]:
    return [get(store, id).state for id in ids]


def some_worker(id: str = "w1", **fields: Any) -> Worker:
    worker = Worker()
    given = {
        "id": id,
        "host": HOST,
        "pid": 4711,
        "identity": "4711:1:boot:ns",
        "session": 4711,
        "state": "alive",
        "lease_until": 0,
        "started_at": NOW,
        "seen_at": NOW,
        "concurrency": 2,
        "running": 0,
        "queues": None,
        "supervisor": None,
        "control": None,
        "provides": None,
        "memory_kb": None,
        "version": None,
    }
    for name, value in (given | fields).items():
        setattr(worker, name, value)
    return worker


def register(store: Store, id: str = "w1", *, lease_ms: int = 30_000, **fields: Any) -> Worker:
    worker = some_worker(id, **fields)
    store.register(worker, lease_ms)
    return worker


def stored_worker(store: Store, id: str = "w1") -> Worker:
    return next(worker for worker in store.workers() if worker.id == id)


def fresh_claim() -> str:
    return f"claim-{next(_tokens)}"


def claim(store: Store, limit: int = 1, *, worker_id: str = "w1", now: int = NOW, **ask: Any) -> list[Job]:
    """Claim up to `limit` jobs under a fresh token."""
    wish = Ask(worker_id, fresh_claim(), limit, **ask)
    return store.exchange(worker_id, HOST, [], wish, now).jobs


def claim_one(store: Store, **options: Any) -> Job:
    (job,) = claim(store, **options)
    return job


def report(job: Job, kind: str = kinds.SUCCEEDED, *, now: int = NOW, **fields: Any) -> Report:
    """The verdict on an attempt, by the default policy."""
    outcome = Outcome(kind, started_at=job.started_at, finished_at=now)
    if kind in (kinds.FAILED, kinds.SUCCEEDED):
        outcome.exit_code = 0 if kind == kinds.SUCCEEDED else 1
    if kind not in (kinds.SUCCEEDED, kinds.UNSTARTED):
        outcome.error = kind
    for name, value in fields.items():
        setattr(outcome, name, value)
    return decide(job, outcome, policy(), now=now)


def finish(store: Store, *reports: Report, worker_id: str = "w1", now: int = NOW) -> list[Report]:
    """Hand in; the reports that came too late."""
    return store.finish(list(reports), worker_id, HOST, now)


def finish_with(store: Store, job: Job, kind: str, *, now: int = NOW, **fields: Any) -> Job:
    """End an attempt in good time; the job as it is then."""
    assert finish(store, report(job, kind, now=now, **fields), now=now) == []
    return get(store, job.id)


def get(store: Store, id: str) -> Job:
    job = store.get(id)
    assert job is not None, f"job {id} is lost"
    return job


def job_in(store: Store, state: str, id: str = "j", *, now: int = NOW) -> Job:
    """A job that went the ordinary way into that state. Needs a living worker w1."""
    if state == states.SCHEDULED:
        add(store, id, now=now, run_at=now + 60_000)
    else:
        add(store, id, now=now, max_retries=0 if state == states.DEAD else 3)
    if state == states.CANCELLED:
        store.cancel(JobFilter(ids=(id,)), now)
    elif state not in (states.PENDING, states.SCHEDULED):
        job = claim_one(store, now=now, only=get(store, id).seq)
        if state == states.COMPLETED:
            finish_with(store, job, kinds.SUCCEEDED, now=now)
        elif state in (states.FAILED, states.DEAD):
            finish_with(store, job, kinds.FAILED, now=now)
    job = get(store, id)
    assert job.state == state
    return job


def ids(jobs: list[Job]) -> list[str]:
    return [job.id for job in jobs]


def snapshot(store: Store) -> list[tuple[object, ...]]:
    """All jobs with all their columns and attempts, to show that nothing changed."""
    jobs = store.page(EVERYTHING, limit=1_000)
    return [
        tuple(getattr(job, name) for name in Job.__slots__)
        + tuple(
            tuple(getattr(attempt, name) for name in type(attempt).__slots__)
            for attempt in store.attempts(job.seq)
        )
        for job in jobs
    ]

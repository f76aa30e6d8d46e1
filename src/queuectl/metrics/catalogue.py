"""Every metric that there is: name, type, labels, meaning. docs/metrics.md is checked against it."""

from __future__ import annotations

from queuectl.core.measures import lower_bound

GAUGE, COUNTER, HISTOGRAM, SUMMARY = "gauge", "counter", "histogram", "summary"
QUEUE = ("queue",)

# Upper bounds of the histograms: of the classes in which durations are kept those below these numbers, so
# that each count is exact. From 8 ms to 2 h 20 min.
_EDGES = (6, 10, 14, 18, 20, 22, 24, 26, 28, 30, 34, 38, 42, 46)
BOUNDS = tuple((edge, str(lower_bound(edge) / 1000)) for edge in _EDGES)


class Family:
    """One metric."""

    __slots__ = ("help", "kind", "labels", "name")

    def __init__(self, name: str, kind: str, help: str, labels: tuple[str, ...] = ()) -> None:
        self.name = name
        self.kind = kind
        self.help = help
        self.labels = labels


JOBS = Family("queuectl_jobs", GAUGE, "Jobs in the store, by state.", (*QUEUE, "state"))
OLDEST = Family(
    "queuectl_oldest_waiting_seconds",
    GAUGE,
    "For how long the job that waits longest has been due; only of queues in which one waits.",
    QUEUE,
)
ENQUEUED = Family("queuectl_jobs_enqueued_total", COUNTER, "Jobs that came in.", QUEUE)
STARTED = Family("queuectl_jobs_started_total", COUNTER, "Attempts that workers have claimed.", QUEUE)
FINISHED = Family(
    "queuectl_jobs_finished_total",
    COUNTER,
    "Jobs that ended: completed, dead or cancelled.",
    (*QUEUE, "state"),
)
RETRIES = Family(
    "queuectl_retries_total", COUNTER, "Attempts that failed and are to be followed by another.", QUEUE
)
WAIT = Family(
    "queuectl_job_wait_seconds", HISTOGRAM, "From the time for which a job was due to its start.", QUEUE
)
RUN = Family("queuectl_job_run_seconds", HISTOGRAM, "How long attempts ran.", QUEUE)
RESCUED = Family("queuectl_jobs_rescued_total", COUNTER, "Jobs taken back from workers that were gone.")
STALE = Family(
    "queuectl_reports_stale_total", COUNTER, "Results that came when the job was no longer the worker's."
)
WORKER_ERRORS = Family(
    "queuectl_worker_store_errors_total", COUNTER, "Troubles that workers had with the store and got over."
)
WORKERS = Family("queuectl_workers", GAUGE, "Workers that are alive.")
SLOTS = Family("queuectl_worker_slots", GAUGE, "Jobs that these workers can run at once.")
RUNNING = Family("queuectl_worker_running", GAUGE, "Jobs that they run at this moment.")
WORKER_MEMORY = Family("queuectl_worker_memory_bytes", GAUGE, "Memory of the worker processes themselves.")
PAUSED = Family("queuectl_queues_paused", GAUGE, "Queues that are paused.")
LATENCY = Family("queuectl_store_latency_seconds", GAUGE, "How long a small read took, just now.")
CALLS = Family(
    "queuectl_store_call_seconds", SUMMARY, "Times that requests to this dashboard have used the store."
)
CALL_ERRORS = Family(
    "queuectl_store_call_errors_total",
    COUNTER,
    "Requests to this dashboard that failed because of the store.",
)
SIZE = Family("queuectl_store_size_bytes", GAUGE, "Size of the database file, or of the tables on a server.")
WAL = Family("queuectl_store_wal_bytes", GAUGE, "Size of SQLite's write-ahead log.")
SCHEMA = Family("queuectl_store_schema_version", GAUGE, "Version of the tables.")
BUILD = Family("queuectl_build_info", GAUGE, "1; version of queuectl, kind of store.", ("version", "engine"))

FAMILIES = (
    *(JOBS, OLDEST, ENQUEUED, STARTED, FINISHED, RETRIES, WAIT, RUN, RESCUED, STALE, WORKER_ERRORS),
    *(WORKERS, SLOTS, RUNNING, WORKER_MEMORY, PAUSED, LATENCY, CALLS, CALL_ERRORS),
    *(SIZE, WAL, SCHEMA, BUILD),
)

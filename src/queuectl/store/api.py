"""Store: every verb over one connection. An engine adds how jobs come in, its clock and its whole tables.

Everything is set-based, and `now` is always a parameter (epoch milliseconds). The SQL of a verb is loaded
when the verb is first used: `enqueue` needs little of it.
"""

from __future__ import annotations

from queuectl.store.connection import Clash
from queuectl.store.dialect import Insert

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Protocol

    from queuectl.core.batches import Batch
    from queuectl.core.job import Attempt, Job
    from queuectl.core.lifecycle import Report
    from queuectl.paths import Location
    from queuectl.store.backlog import Backlog
    from queuectl.store.bookkeeping import Bookkeeping
    from queuectl.store.causes import Causes
    from queuectl.store.compaction import ServerCompaction, SqliteCompaction
    from queuectl.store.connection import Connection, Followed
    from queuectl.store.coordination import Coordination
    from queuectl.store.deaths import Death
    from queuectl.store.editing import Editing
    from queuectl.store.figures import Figures
    from queuectl.store.health import Finding, Trapped, Waiting
    from queuectl.store.history import History
    from queuectl.store.links import Links
    from queuectl.store.messages import Ask, Exchange, JobFilter, Orders, Stats, Worker
    from queuectl.store.notices import Notices
    from queuectl.store.queues import Queues
    from queuectl.store.retention import Outputs
    from queuectl.store.runtimes import Runtimes
    from queuectl.store.schedules import Schedules
    from queuectl.store.surroundings import Surroundings
    from queuectl.store.transfer import Transfer

_CONFIG = Insert("config", ("key", "value", "updated_at"))


class Store:
    """One connection, and every verb over it. Each thread opens its own."""

    connection: Connection
    location: Location

    # --- new jobs -------------------------------------------------------------------------------------------

    def enqueue(self, batches: Iterable[Batch], now: int, *, skip: bool = False) -> int:
        """Store all jobs of all batches in one transaction; returns how many are new.

        Ids are made by the caller, so that a repeated call after an unknown commit finds its own rows. With
        `skip`, a job whose id exists is left as it is; otherwise that raises DuplicateId and nothing is
        stored.
        """
        from queuectl.store.intake import enqueue

        return enqueue(self.connection, batches, now, skip=skip)

    def enqueue_staged(self, batches: Iterable[Batch], now: int, *, skip: bool = False) -> int:
        """Store jobs as `enqueue` does, from batches that come slowly: nobody waits for a lock meanwhile."""
        raise NotImplementedError  # an engine's own

    def has_queue_rules(self) -> bool:
        """Return whether any queue has defaults for its jobs, or takes none."""
        return bool(self.connection.all("SELECT 1 FROM queues LIMIT 1"))

    # --- a worker's exchange --------------------------------------------------------------------------------

    def exchange(
        self, worker_id: str, host: str, reports: Sequence[Report], ask: Ask | None, now: int
    ) -> Exchange:
        """Store results and claim new work in one transaction: one fsync for many jobs.

        Raises WorkerFenced if the worker was declared dead; then nothing is stored.
        """
        from queuectl.store.exchange import Exchanges

        return Exchanges(self.connection).exchange(worker_id, host, reports, ask, now)

    def finish(self, reports: Sequence[Report], worker_id: str, host: str, now: int) -> list[Report]:
        """Store verdicts on jobs, fenced by their claims; returns the ones that came too late."""
        from queuectl.store.exchange import Exchanges

        return Exchanges(self.connection).finish(reports, worker_id, host, now)

    def follow(self, settings: Followed) -> None:
        """Apply these settings from now on."""
        self.connection.settings = settings

    def settle(self, now: int) -> None:
        """Resolve what waits for jobs that have ended, in small transactions."""
        from queuectl.store.exchange import Exchanges

        Exchanges(self.connection).settle(now)

    def has_work(self, now: int) -> bool:
        """Return whether an exchange could bring something; a read, so that idle workers take no lock."""
        from queuectl.store.exchange import Exchanges

        return Exchanges(self.connection).has_work(now)

    def next_due(self) -> int | None:
        """Return when the next scheduled or failed job is due; None: there is none."""
        from queuectl.store.exchange import what_waits

        return what_waits(self.connection).next_due

    # --- what people do to jobs -----------------------------------------------------------------------------

    def cancel(
        self, filter: JobFilter, now: int, *, chunk: int = 1_000, notices: Notices | None = None
    ) -> tuple[int, int]:
        """Cancel jobs that wait, and ask running ones to stop; returns how many of each.

        Where a notification is due for each, `chunk` at a time: no other writer waits for all of them.
        """
        from queuectl.store.jobs import JobActions

        return JobActions(self.connection).cancel(filter, now, chunk=chunk, notices=notices)

    def retry(self, filter: JobFilter, now: int, *, sources: tuple[str, ...]) -> int:
        """Make jobs in these states pending again, with a fresh attempt counter; returns how many.

        Raises Refused if another job with the same unique key waits or runs.
        """
        from queuectl.store.jobs import JobActions

        return JobActions(self.connection).retry(filter, now, sources=sources)

    def remove(self, filter: JobFilter, *, sources: tuple[str, ...], limit: int) -> tuple[int, list[str]]:
        """Delete up to `limit` jobs and their attempts; returns how many, and the log files they leave."""
        from queuectl.store.jobs import JobActions

        return JobActions(self.connection).remove(filter, sources=sources, limit=limit)

    def purge(self, state: str, before: int | None, *, limit: int, keep: int = 0) -> tuple[int, list[str]]:
        """Delete up to `limit` jobs that ended in `state` before a time; the `keep` newest of a queue stay.

        Returns how many, and the log files they leave. A job that others still wait for stays.
        """
        from queuectl.store.jobs import JobActions

        return JobActions(self.connection).purge(state, before, limit=limit, keep=keep)

    # --- reads ----------------------------------------------------------------------------------------------

    def get(self, id: str) -> Job | None:
        """Return the job with this id; None: there is none."""
        from queuectl.store.reads import JobReads

        return JobReads(self.connection).get(id)

    def page(
        self,
        filter: JobFilter,
        *,
        limit: int,
        after: int | None = None,
        offset: int = 0,
        sort: str = "created",
        descending: bool = False,
    ) -> list[Job]:
        """Return a page of jobs. `after` (a seq) pages by key when sorted by creation."""
        from queuectl.store.reads import JobReads

        return JobReads(self.connection).page(
            filter, limit=limit, after=after, offset=offset, sort=sort, descending=descending
        )

    def by_numbers(self, seqs: Sequence[int]) -> list[Job]:
        """Return the jobs with these sequence numbers, in their order."""
        from queuectl.store.reads import JobReads

        return JobReads(self.connection).by_numbers(seqs)

    def count(self, filter: JobFilter) -> int:
        """Count the jobs that a filter selects."""
        from queuectl.store.reads import JobReads

        return JobReads(self.connection).count(filter)

    def unfinished(self, filter: JobFilter) -> int:
        """Count the jobs of a filter that have not ended."""
        from queuectl.store.reads import JobReads

        return JobReads(self.connection).unfinished(filter)

    def ended_before(self, state: str, before: int, *, keep: int = 0) -> int:
        """Count what `purge` would delete."""
        from queuectl.store.reads import JobReads

        return JobReads(self.connection).ended_before(state, before, keep=keep)

    def attempts(self, seq: int) -> Sequence[Attempt]:
        """Return the attempts of a job, the first one first."""
        from queuectl.store.reads import JobReads

        return JobReads(self.connection).attempts(seq)

    def stats(self, now: int, *, window_ms: int, queue: str | None = None) -> Stats:
        """Return the jobs by state, and how many ended within the window."""
        from queuectl.store.reads import JobReads

        return JobReads(self.connection).stats(now, window_ms=window_ms, queue=queue)

    def ids_from(self, prefix: str, *, limit: int) -> list[str]:
        """Return ids that begin like this, for completion."""
        from queuectl.store.reads import JobReads

        return JobReads(self.connection).ids_from(prefix, limit=limit)

    def causes(self, queue: str | None = None) -> list[Causes]:
        """Return the dead jobs grouped by how their last attempt ended."""
        from queuectl.store.reads import JobReads

        return JobReads(self.connection).causes(queue)

    def deaths(self, queue: str | None = None, *, page: int = 2_000) -> Iterator[Death]:
        """Yield the dead jobs with their last error, read `page` at a time."""
        from queuectl.store.reads import JobReads

        return JobReads(self.connection).deaths(queue, page=page)

    # --- workers --------------------------------------------------------------------------------------------

    def lease_clock(self) -> int:
        """Return the time that leases are measured by, in milliseconds."""
        raise NotImplementedError  # an engine's own

    def lease_ended(self, worker: Worker) -> bool:
        """Return whether a worker has been silent for too long."""
        raise NotImplementedError  # an engine's own

    def presence(self, worker: Worker) -> str:
        """Return whether a worker's process lives: alive, dead, or unknown where only its lease can tell."""
        return self._workers().presence(worker)

    def register(self, worker: Worker, lease_ms: int) -> None:
        """Add a worker, and set its `lease_until`."""
        self._workers().register(worker, lease_ms)

    def heartbeat(
        self, worker_id: str, lease_ms: int, running: int, now: int, memory_kb: int | None = None
    ) -> Orders:
        """Renew a worker's lease; returns what others ask of it. Raises WorkerFenced if it is dead."""
        return self._workers().heartbeat(worker_id, lease_ms, running, now, memory_kb)

    def orders(self, worker_id: str) -> Orders:
        """Return what others ask of a worker."""
        return self._workers().orders(worker_id)

    def workers(self) -> Sequence[Worker]:
        """Return all registered workers, the oldest first."""
        return self._workers().workers()

    def suspects(self, by: str) -> Sequence[Worker]:
        """Return workers that are dead by their row or their lease, and the one that worker `by` checks."""
        return self._workers().suspects(by)

    def control(self, worker_ids: Sequence[str], request: str) -> None:
        """Ask workers for something, with their next heartbeat."""
        self._workers().control(worker_ids, request)

    def bury(self, worker: Worker) -> bool:
        """Declare a worker dead; returns False if it renewed its lease after `worker` was read."""
        return self._workers().bury(worker)

    def claimed_by(self, worker_id: str) -> Sequence[Job]:
        """Return the jobs that a worker has claimed."""
        return self._workers().claimed_by(worker_id)

    def claims_of(self, worker_ids: Sequence[str], *, at_once: int = 500) -> dict[str, int]:
        """Count the claimed jobs of each of these workers; one without any is left out."""
        return self._workers().claims_of(worker_ids, at_once=at_once)

    def forget(self, worker_id: str) -> None:
        """Delete a worker that is gone and has no claimed job."""
        self._workers().forget(worker_id)

    def _workers(self) -> Coordination:
        from queuectl.store.coordination import Coordination

        return Coordination(self.connection, self.location, self.lease_clock)

    # --- stored settings ------------------------------------------------------------------------------------

    def stored_config(self) -> dict[str, str]:
        """Return the settings that all workers of this store share."""
        rows = self.connection.all("SELECT key, value FROM config")
        return {str(key): str(value) for key, value in rows}

    def put_config(self, key: str, value: str | None, now: int) -> None:
        """Store a setting; None removes it."""

        def body(_: int | None) -> int:
            changed = self.connection.run("DELETE FROM config WHERE key = ?", (key,))
            if value is not None:
                changed = self.connection.insert(_CONFIG, [(key, value, now)])
            return changed

        try:
            self.connection.write("config", body)
        except Clash:  # another process put it there just now; on a server two can do so at once
            self.connection.write("config", body)

    # --- hints: an engine that has none leaves workers of other machines to their poll ----------------------

    def notify(self, what: bytes) -> None:
        """Wake the workers of all machines; a hint that may be lost."""

    def hint_source(self) -> tuple[int, int] | None:
        """Return a descriptor that is readable when hints may have come in, and a number that changes with
        the descriptor: after a reconnect it may look the same. None: there is none now.
        """
        return None

    def hints(self) -> bytes:
        """Return the hints since the last call."""
        return b""

    # --- parts with verbs of their own ----------------------------------------------------------------------

    def backlog(self) -> Backlog:
        """Return samples of what waits."""
        from queuectl.store.backlog import Backlog

        return Backlog(self.connection)

    def bookkeeping(self) -> Bookkeeping:
        """Return what compares and mends the kept counts."""
        from queuectl.store.bookkeeping import Bookkeeping

        return Bookkeeping(self.connection)

    def history(self) -> History:
        """Return the numbers of past minutes and days."""
        from queuectl.store.history import History

        return History(self.connection)

    def figures(self) -> Figures:
        """Return the numbers of one scrape."""
        from queuectl.store.figures import Figures

        return Figures(self.connection, self.location)

    def queues(self) -> Queues:
        """Return rules and depths of queues."""
        from queuectl.store.queues import Queues

        return Queues(self.connection)

    def outputs(self) -> Outputs:
        """Return what deletes old output."""
        from queuectl.store.retention import Outputs

        return Outputs(self.connection)

    def runtimes(self) -> Runtimes:
        """Return the learned run times."""
        from queuectl.store.runtimes import Runtimes

        return Runtimes(self.connection)

    def schedules(self) -> Schedules:
        """Return the schedules."""
        from queuectl.store.schedules import Schedules

        return Schedules(self.connection)

    def links(self) -> Links:
        """Return which job waits for which."""
        from queuectl.store.links import Links

        return Links(self.connection)

    def notices(self) -> Notices:
        """Return what stores notification jobs."""
        from queuectl.store.notices import Notices

        return Notices(self.connection)

    def editing(self) -> Editing:
        """Return what changes, holds and moves jobs."""
        from queuectl.store.editing import Editing

        return Editing(self.connection)

    def surroundings(self) -> Surroundings:
        """Return what is around one job, for `explain`."""
        from queuectl.store.surroundings import Surroundings

        return Surroundings(self.connection)

    # --- the engine's own -----------------------------------------------------------------------------------

    def transfer(self) -> Transfer:
        """Return whole tables, as a copy or an export needs them."""
        raise NotImplementedError  # an engine's own

    def compaction(self) -> SqliteCompaction | ServerCompaction:
        """Return what measures and reclaims disk space."""
        raise NotImplementedError  # an engine's own

    def be_patient(self, busy_ms: int, answer_ms: int | None = None) -> None:
        """Set how long to wait for other writers, and for any answer."""
        raise NotImplementedError  # an engine's own

    def relax_durability(self) -> None:
        """Commit without waiting for the disk, where the engine lets a client choose."""
        raise NotImplementedError  # an engine's own

    def changed(self) -> int:
        """Return a number: while it stays the same, no other connection has written. It may change without
        a reason.
        """
        raise NotImplementedError  # an engine's own

    def check_identity(self) -> None:
        """Raise StoreReplaced if the file is not the one that was opened."""

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


if TYPE_CHECKING:

    class HealthStore(Store, Protocol):  # type: ignore[misc]  # a store, and what only the doctor asks
        """A store that was opened read-only; see `open.look_at`."""

        def examine(self, *, now: Callable[[], int], full: bool = False) -> list[Finding]:
            """Check the engine and the tables. `now` is the wall clock, to compare the server's with it."""
            ...

        def waiting(self) -> list[Waiting]:
            """Return the due jobs of each queue."""
            ...

        def trapped(self) -> Trapped:
            """Return blocked jobs that nothing will release."""
            ...

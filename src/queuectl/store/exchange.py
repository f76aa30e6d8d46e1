"""A worker's exchange: results in, new work out, in one transaction.

Portable SQL beside the method that uses it. Storing results is left to `results`, the claim to `claims`, who
waits for whom to `links`.
"""

from __future__ import annotations

from functools import lru_cache

from queuectl.core import states
from queuectl.core.job import PERCENT
from queuectl.errors import WorkerFenced
from queuectl.store.claims import claim, claimed_before, pending_queue
from queuectl.store.messages import Exchange
from queuectl.store.results import Results, carefully

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuectl.core.lifecycle import Report
    from queuectl.store.connection import Connection, Row
    from queuectl.store.dialect import Dialect
    from queuectl.store.messages import Ask

_PROMOTE = 1_000  # at a time: whoever holds many rows for long is in everybody's way
_SETTLE = 4  # steps in one exchange: they are bounded too
_SETTLE_ALONE = 50  # in a transaction of their own


@lru_cache(maxsize=4)
def _seeks(dialect: Dialect) -> str:
    seeks = [
        *(f"SELECT min(run_at) FROM jobs WHERE {dialect.timed}state = '{state}'" for state in states.TIMED),
        pending_queue(dialect),
        pending_queue(dialect, last=True),
        "SELECT min(needs) FROM jobs WHERE state = 'pending' AND needs IS NOT NULL",
        "SELECT min(name) FROM queues",
        "SELECT min(name) FROM job_groups",
        "SELECT min(parent_seq) FROM dependencies",
        "SELECT min(seq) FROM unsettled",
    ]
    return "SELECT " + ", ".join(f"({seek})" for seek in seeks)


class Waiting:
    """What waits in the store, and which of its features are used at all: an index seek for each."""

    __slots__ = ("due", "first_needs", "first_queue", "grouped", "last_queue", "linked", "ruled", "unsettled")

    def __init__(self, row: Row) -> None:
        times, rest = row[: len(states.TIMED)], row[len(states.TIMED) :]
        # The queues with pending jobs, and the resources that some need.
        self.first_queue, self.last_queue, self.first_needs, *used = rest
        self.ruled, self.grouped, self.linked, self.unsettled = (value is not None for value in used)
        self.due = {
            state: int(str(time)) for state, time in zip(states.TIMED, times, strict=True) if time is not None
        }

    @property
    def next_due(self) -> int | None:
        return min(self.due.values(), default=None)


def what_waits(db: Connection) -> Waiting:
    """One read: what waits, and which features are used."""
    return Waiting(db.all(_seeks(db.dialect))[0])


class Exchanges:
    """What a worker and the store hand each other."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._results = Results(connection)

    def exchange(
        self, worker_id: str, host: str, reports: Sequence[Report], ask: Ask | None, now: int
    ) -> Exchange:
        """Hand in results and take new work in one transaction: one fsync for many jobs."""
        unsure = ask is not None and ask.again  # whether an earlier run may have taken effect

        def deal(careful: bool) -> Exchange:
            def body(earlier: Exchange | None) -> Exchange:
                nonlocal unsure
                unsure = unsure or earlier is not None
                self._check_alive(worker_id, alone=unsure)
                accepted, stale = self._results.finish(
                    reports, worker_id, host, now, careful=careful or unsure
                )
                return self._take(ask, reports, (accepted, stale), now, again=unsure)

            return self.connection.write("complete" if reports else "claim", body)

        return carefully(deal)

    def finish(self, reports: Sequence[Report], worker_id: str, host: str, now: int) -> list[Report]:
        """Store verdicts on jobs, fenced by their claims; returns the ones that came too late."""

        def store(careful: bool) -> list[Report]:
            def body(_: list[Report] | None) -> list[Report]:
                accepted, stale = self._results.finish(reports, worker_id, host, now, careful=careful)
                waiting = what_waits(self.connection)
                self._notify(accepted, waiting, now)
                self._tell_others([report.seq for report in reports], waiting, now)
                return stale

            return self.connection.write("finish", body)

        return carefully(store)

    def _check_alive(self, worker_id: str, *, alone: bool) -> None:
        """In the transaction of the claim, so that none can slip in while this worker is being buried.

        `alone` waits for a transaction of our own that was cut off and may still be on its way.
        """
        dialect = self.connection.dialect
        lock = dialect.hold if alone else dialect.keep
        if not self.connection.all(
            f"SELECT 1 FROM workers WHERE id = ? AND state = 'alive'{lock}", (worker_id,)
        ):
            raise WorkerFenced(f"worker {worker_id} was declared dead")

    def _take(
        self,
        ask: Ask | None,
        reports: Sequence[Report],
        finished: tuple[Sequence[Report], list[Report]],
        now: int,
        *,
        again: bool,
    ) -> Exchange:
        accepted, stale = finished
        # After the results: whoever enqueues a job that waits for one of these has it locked until then.
        waiting = what_waits(self.connection)
        told = self._notify(accepted, waiting, now)
        released = self._tell_others([report.seq for report in reports], waiting, now) or told
        promoted = self._promote(waiting, now)
        if released or promoted:
            waiting = what_waits(self.connection)
        answer = Exchange([], stale, now if waiting.unsettled else None)
        if ask is None:
            answer.ring = released
            return answer
        answer.jobs = claimed_before(self.connection, ask) if again else []
        if not answer.jobs and ask.limit > 0:
            answer.jobs = claim(self.connection, ask, waiting, answer, now)
        if any(job.rules is not None and PERCENT in job.rules for job in answer.jobs):
            from queuectl.store.runtimes import set_limits

            set_limits(self.connection, answer.jobs)
        full = len(answer.jobs) >= ask.limit
        answer.ring = answer.ring or (released and (full or ask.queues is not None))
        if not full:
            answer.wake_at(waiting.next_due)
        return answer

    # --- what becomes ready -----------------------------------------------------------------------

    def _tell_others(self, seqs: list[int], waiting: Waiting, now: int) -> bool:
        """Who waits for these jobs to end, or for their place in a group; whether anybody is ready now."""
        released = False
        if waiting.linked:
            from queuectl.store.links import Links

            links = Links(self.connection)
            if seqs and links.note(self._ended(seqs)):
                waiting.unsettled = True
            steps = _SETTLE if waiting.unsettled else 0
            while steps > 0 and links.settle(now):
                released = True
                steps -= 1
        if waiting.grouped and seqs:
            released = self._admit(seqs, now) or released
        return released

    def _notify(self, accepted: Sequence[Report], waiting: Waiting, now: int) -> bool:
        """Jobs that tell of these ends, if anybody wants to be told; whether there are any."""
        settings = self.connection.settings
        wanted = waiting.ruled or (settings is not None and settings.notify is not None)
        if not wanted and not any(report.notify for report in accepted):
            return False
        from queuectl.store.notices import Notices

        return Notices(self.connection).of_reports(accepted, now)

    def _ended(self, seqs: Sequence[object]) -> list[object]:
        these, values = self.connection.dialect.these("seq", seqs)
        return [
            row[0]
            for row in self.connection.all(
                f"SELECT seq FROM jobs WHERE finished_at IS NOT NULL AND {these}", values
            )
        ]

    def _admit(self, seqs: Sequence[object], now: int) -> bool:
        from queuectl.store.readiness import admit, groups_of

        groups = groups_of(self.connection, *self.connection.dialect.these("seq", seqs))
        return bool(groups) and bool(admit(self.connection, groups, now))

    def _promote(self, waiting: Waiting, now: int) -> bool:
        """Scheduled and failed jobs whose time has come are pending again; whether there were any."""
        db = self.connection
        found = False
        for state, due in waiting.due.items():
            if due > now:
                continue
            # One state a query, in the order of the index: else PostgreSQL may choose to read all jobs.
            rows = db.all(
                f"SELECT seq, queue, job_group FROM {db.dialect.due_from} "
                "WHERE state IN ('scheduled', 'failed') AND state = ? "
                f"AND run_at <= ? ORDER BY run_at LIMIT {_PROMOTE}{db.dialect.take}",
                (state, now),
            )
            if rows:
                found = True
                seqs = [row[0] for row in rows]
                these, values = db.dialect.these("seq", seqs)
                db.run(
                    "UPDATE jobs SET state = CASE WHEN job_group IS NULL THEN 'pending' ELSE 'blocked' END, "
                    f"updated_at = ? WHERE {these}",
                    (now, *values),
                )
                for _, queue, group in rows:
                    db.tally.moved(queue, state, states.PENDING if group is None else states.BLOCKED, now)
                if waiting.grouped:
                    self._admit(seqs, now)
        return found

    def settle(self, now: int) -> None:
        """Tell everybody who waits for jobs that have ended; in small transactions."""
        from queuectl.store.links import Links

        links = Links(self.connection)

        def body(_: bool | None) -> bool:
            return all(links.settle(now) for _ in range(_SETTLE_ALONE))

        while what_waits(self.connection).unsettled and self.connection.write("settle", body):
            pass

    # --- for who is idle --------------------------------------------------------------------------

    def next_due(self) -> int | None:
        """When the next scheduled or failed job is due."""
        return what_waits(self.connection).next_due

    def has_work(self, now: int) -> bool:
        """Whether an exchange could bring something; a read, so that idle workers take no lock."""
        waiting = what_waits(self.connection)
        due = waiting.next_due
        pending = waiting.first_queue is not None or waiting.first_needs is not None
        return pending or waiting.unsettled or (due is not None and due <= now)

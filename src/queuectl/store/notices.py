"""Jobs that tell of the end of others, stored in the transaction of that end.

So an end that is stored is told of, and one that is undone is not. Whom to tell, and what, is decided by
`core.notices`; loaded when somebody is to be told.
"""

from __future__ import annotations

import os

from queuectl.core import notices
from queuectl.core.notices import Rule, read_rule, resolve
from queuectl.core.outcome import UNSTARTED
from queuectl.core.queue_rules import QUEUE_COLUMNS, apply_defaults, rule_from_row
from queuectl.core.rows import JOB_COLUMNS, job_from_row
from queuectl.core.states import CANCELLED, TERMINAL
from queuectl.store.filters import marks
from queuectl.store.intake import insert_jobs, insert_values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from queuectl.core.job import Job, NewJob
    from queuectl.core.lifecycle import Report
    from queuectl.core.queue_rules import QueueRule
    from queuectl.store.connection import Connection, Row

    # By the number of a job: what tells this end from its others, the command, whether it is the job's own.
    Ends = dict[object, tuple[str, str, bool]]

_MAX_RETRIES = 3  # of a store that nobody has told the settings


class Notices:
    """Over a store's connection. It reads `many` numbers of jobs at a time, and `chunk` whole jobs: each may
    have an input of a megabyte.
    """

    def __init__(self, connection: Connection, *, chunk: int = 50, many: int = 5_000) -> None:
        self._db = connection
        self._chunk = chunk
        self._many = many

    # --- look -------------------------------------------------------------------------------------

    def about(self, id: str, *, limit: int = 20) -> list[Job]:
        """The notifications of a job, latest first."""
        prefix = notices.id_prefix(id)
        rows = self._db.all(
            # From `…-` to `….`, the character after it: a piece of the index of ids.
            f"SELECT {', '.join(JOB_COLUMNS)} FROM jobs WHERE id > ? AND id < ? AND about = ? "
            "ORDER BY seq DESC LIMIT ?",
            (prefix, prefix[:-1] + ".", id, limit),
        )
        return [job_from_row(row) for row in rows]

    # --- in the transaction of an end -------------------------------------------------------------

    def of_reports(self, reports: Iterable[Report], now: int) -> bool:
        """Tell of those that have ended now; whether anybody is told."""
        ended = [report for report in reports if report.state in TERMINAL]
        rules = self._rules() if ended else {}
        ends: Ends = {}
        for report in ended:
            told = self._resolve(report.state, report.notify, rules.get(report.queue))
            if told is not None:
                ran = report.outcome.kind != UNSTARTED
                end = notices.end_of_run(report.run) if ran else notices.end_without_run(now)
                ends[report.seq] = (end, *told)
        return self._tell(ends, rules, now)

    def of_cancelled(self, rows: Iterable[Row], now: int) -> bool:
        """The same for jobs (number, queue, rule of its own) that were cancelled while they waited."""
        rules = self._rules()
        ends: Ends = {}
        for seq, queue, own in rows:
            told = self._resolve(CANCELLED, own, rules.get(queue))
            if told is not None:
                ends[seq] = (notices.end_without_run(now), *told)
        return self._tell(ends, rules, now)

    def of_all_cancelled(self, condition: str, values: Sequence[object], now: int) -> None:
        """The same for those that a condition names, who may be very many."""
        own = "" if self.are_of_cancels() else " AND notify IS NOT NULL"
        rows: Sequence[Row] = [(0,)]
        while rows:
            rows = self._db.all(
                f"SELECT seq, queue, notify FROM jobs WHERE {condition}{own} AND about IS NULL AND seq > ? "
                "ORDER BY seq LIMIT ?",
                (*values, rows[-1][0], self._many),
            )
            if rows:
                self.of_cancelled(rows, now)

    def are_of_cancels(self) -> bool:
        """Whether jobs that say nothing themselves may be told of when they are cancelled."""
        if self._resolve(CANCELLED, None, None) is not None:
            return True
        return any(rule.notify is not None for rule in self._rules().values())

    # --- how --------------------------------------------------------------------------------------

    def _rules(self) -> dict[object, QueueRule]:
        """Of the queues that have something to say here: whom to tell, or how those jobs are run."""
        rows = self._db.all(
            f"SELECT {', '.join(QUEUE_COLUMNS)} FROM queues WHERE notify IS NOT NULL OR name = ?",
            (notices.QUEUE,),
        )
        return {row[0]: rule_from_row(row) for row in rows}

    def _resolve(self, state: str, own: object, rule: QueueRule | None) -> tuple[str, bool] | None:
        settings = self._db.settings
        of_store = Rule() if settings is None else Rule(settings.notify, on=settings.notify_on)
        of_queue = Rule() if rule is None else read_rule(rule.notify)
        return resolve(state, (read_rule(None if own is None else str(own)), of_queue, of_store))

    def _tell(self, ends: Ends, rules: dict[object, QueueRule], now: int) -> bool:
        seqs = list(ends)
        told = 0
        for start in range(0, len(seqs), self._chunk):
            these, values = self._db.dialect.these("seq", seqs[start : start + self._chunk])
            # A notification itself is never told of: that would have no end.
            rows = self._db.all(
                f"SELECT {', '.join(JOB_COLUMNS)} FROM jobs WHERE {these} AND about IS NULL ORDER BY seq",
                values,
            )
            jobs = [self._made(job_from_row(row), ends, rules.get(notices.QUEUE)) for row in rows]
            if jobs := self._new(jobs, now):
                told += insert_jobs(self._db, [insert_values(job, now) for job in jobs], now=now, skip=True)
        return told > 0

    def _made(self, job: Job, ends: Ends, rule: QueueRule | None) -> NewJob:
        end, command, own = ends[job.seq]
        settings = self._db.settings
        retries = _MAX_RETRIES if settings is None else settings.max_retries
        told = notices.notification(job, end, command, own=own, max_retries=retries)
        if rule is not None:
            apply_defaults(told, rule)
        told.timeout = told.timeout or notices.TIMEOUT_MS
        return told

    def _new(self, jobs: list[NewJob], now: int) -> list[NewJob]:
        """Without those of ends that were told of: by an earlier run of the same transaction, whose outcome
        nobody knew. An id that some other job has must not cost a notification.
        """
        if not jobs:
            return []
        ids = [job.id for job in jobs]
        rows = self._db.all(f"SELECT id, about, created_at FROM jobs WHERE id IN ({marks(ids)})", ids)
        known = {row[0]: row[1:] for row in rows}
        new = []
        for job in jobs:
            assert job.conditions is not None
            if job.id in known:
                if known[job.id] == (job.conditions.about, now):
                    continue
                job.id = f"{job.id}-{os.urandom(4).hex()}"
            new.append(job)
        return new

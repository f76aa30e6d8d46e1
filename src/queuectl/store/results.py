"""What became of attempts: verdicts are written under the fence of their claim, and recorded.

Deciding what a result means is left to `core.lifecycle`.
"""

from __future__ import annotations

from collections import Counter

from queuectl.core import states
from queuectl.core.lifecycle import cancelled
from queuectl.core.outcome import UNSTARTED
from queuectl.core.rows import ATTEMPT_COLUMNS
from queuectl.store.dialect import Insert, Update

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from queuectl.core.lifecycle import Report
    from queuectl.store.connection import Connection, T

# The last condition: a job that somebody asked to stop must not go back to waiting because its
# worker had not heard of it yet. Such a report changes no row here and is looked at again alone.
_FINISH = Update(
    "jobs",
    sets=(
        ("state", "text"),
        ("attempts", "int"),
        ("lost", "int"),
        ("runs", "int"),
        ("run_at", "bigint"),
        ("exit_code", "int"),
        ("signal", "int"),
        ("last_error", "text"),
        ("started_at", "bigint"),
        ("finished_at", "bigint"),
        ("updated_at", "bigint"),
    ),
    also="worker_id = NULL, claim = NULL, cancel_requested = 0",
    keys=(("seq", "bigint"), ("claim", "text")),
    guard=("cancel_requested", "int"),
)

# Claimed but never started: what the row says about earlier attempts stays.
_GIVE_BACK = Update(
    "jobs",
    sets=(("attempts", "int"), ("runs", "int"), ("updated_at", "bigint")),
    also="state = 'pending', worker_id = NULL, claim = NULL, "
    "started_at = (SELECT max(a.started_at) FROM attempts a WHERE a.job_seq = jobs.seq)",
    keys=(("seq", "bigint"), ("claim", "text")),
    guard=("cancel_requested", "int"),
)

_RECORD = Insert("attempts", ("job_seq", *ATTEMPT_COLUMNS))


class Unexpected(Exception):
    """Not all claims are ours any more: the transaction is done again, looking at each."""


class Results:
    """Verdicts on attempts, written in the transaction of the caller."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def finish(
        self, reports: Sequence[Report], worker_id: str, host: str, now: int, *, careful: bool
    ) -> tuple[Sequence[Report], list[Report]]:
        """Which have taken effect now, and which came too late."""
        accepted: Sequence[Report] = reports
        stale: list[Report] = []
        if careful:
            accepted, stale = self._write_each(reports, now)
        elif self._write_all(reports, now) != len(reports):
            raise Unexpected
        records = [
            _record_values(report, worker_id, host) for report in accepted if report.outcome.kind != UNSTARTED
        ]
        if records:
            self.connection.insert(_RECORD, records)
        return accepted, stale

    def _write_all(self, reports: Sequence[Report], now: int) -> int:
        ended = [_finish_values(report, now) for report in reports if not _is_unused(report)]
        unused = [_give_back_values(report, now) for report in reports if _is_unused(report)]
        changed = self.connection.update(_FINISH, ended) if ended else 0
        changed += self.connection.update(_GIVE_BACK, unused) if unused else 0
        if changed == len(reports):
            for (queue, state), jobs in Counter([(r.queue, r.state) for r in reports]).items():
                self.connection.tally.moved(queue, states.PROCESSING, state, now, jobs)
        return changed

    def _write_each(self, reports: Sequence[Report], now: int) -> tuple[list[Report], list[Report]]:
        accepted: list[Report] = []
        stale: list[Report] = []
        for report in reports:
            if self._write_all([report], now):
                accepted.append(report)
            elif self._still_claimed(report) and self._write_all([cancelled(report)], now):
                # Both: between the two looks somebody else may have given a verdict on this claim.
                accepted.append(report)
            elif not self._recorded(report):
                stale.append(report)
        return accepted, stale

    def _still_claimed(self, report: Report) -> bool:
        """Whether the fence holds, so that only a request to stop can have been in the way."""
        return bool(
            self.connection.all("SELECT 1 FROM jobs WHERE seq = ? AND claim = ?", (report.seq, report.claim))
        )

    def _recorded(self, report: Report) -> bool:
        """Whether this very report is stored already: a repeat after a commit of unknown outcome.

        The outcome too must be the same: a rescuer's verdict on this claim is not the worker's own.
        """
        outcome = report.outcome
        return bool(
            self.connection.all(
                "SELECT 1 FROM attempts WHERE job_seq = ? AND run = ? AND claim = ? "
                "AND outcome = ? AND finished_at = ?",
                (report.seq, report.run, report.claim, outcome.kind, outcome.finished_at),
            )
        )


def carefully(store: Callable[[bool], T]) -> T:
    """First as if nothing were in the way, which costs least; else all of it again, one by one."""
    try:
        return store(False)
    except Unexpected:
        return store(True)


def _is_unused(report: Report) -> bool:
    return report.outcome.kind == UNSTARTED and report.state == states.PENDING


def _give_back_values(report: Report, now: int) -> tuple[object, ...]:
    return report.attempts, report.run - 1, now, report.seq, report.claim, 0


def _finish_values(report: Report, now: int) -> tuple[object, ...]:
    outcome = report.outcome
    return (
        report.state,
        report.attempts,
        report.lost,
        report.run - 1 if outcome.kind == UNSTARTED else report.run,
        report.run_at,
        outcome.exit_code,
        outcome.signal,
        None if report.state == states.COMPLETED else report.error,
        outcome.started_at,
        now if report.state in states.TERMINAL else None,
        now,
        report.seq,
        report.claim,
        int(report.state in (states.COMPLETED, states.CANCELLED)),
    )


def _record_values(report: Report, worker_id: str, host: str) -> tuple[object, ...]:
    outcome = report.outcome
    return (
        report.seq,
        report.run,
        report.attempt,
        report.claim,
        worker_id,
        host,
        outcome.started_at,
        outcome.finished_at,
        outcome.kind,
        outcome.exit_code,
        outcome.signal,
        report.error,
        outcome.cpu_ms,
        outcome.max_rss_kb,
        outcome.output,
        outcome.output_bytes,
        outcome.output_dropped,
        outcome.log,
    )

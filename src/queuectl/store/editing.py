"""Jobs that do not run are held, released and changed; a command that runs tells how far it is.

Which values a job may have is left to `core.spec`. Many jobs are changed some at a time: whoever holds many
rows for long is in everybody's way.
"""

from __future__ import annotations

from queuectl.core import states
from queuectl.core.rows import JOB_COLUMNS, job_from_row
from queuectl.store.filters import portions, where
from queuectl.store.readiness import admit, make_ready

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from queuectl.core.job import Job
    from queuectl.store.connection import Connection, Row
    from queuectl.store.messages import JobFilter

    # The rules, variables and notices of a job, as they are stored -> what is to be stored from now on.
    Merge = Callable[[str | None, str | None, str | None], Mapping[str, object]]

CHUNK = 1_000
EDITABLE = frozenset(
    (
        *("command", "argv", "queue", "priority", "max_retries", "backoff_strategy", "backoff_base"),
        *("backoff_max", "retry_delay", "timeout", "run_at", "cwd", "env", "tags", "rules", "needs"),
        "notify",
    )
)
_WAITING = states.CANCELLABLE  # those that neither run nor have ended
# What is changed, read under its lock. A job that was claimed since we looked is not among it any more.
_READ = ("seq", "state", "job_group", "rules", "env", "queue", "held", "waits", "notify")
_SEQ, _STATE, _GROUP, _RULES, _ENV, _QUEUE, _HELD, _WAITS, _NOTIFY = range(len(_READ))


class Editing:
    """Over a store's connection."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def hold(self, filter: JobFilter, now: int) -> int:
        """Keep jobs from being run until they are released; how many were not held before."""

        def change(rows: Sequence[Row]) -> None:
            self._set("state = 'blocked', held = 1, updated_at = ?", (now,), rows, "held IS NULL")
            for row in rows:
                self._db.tally.moved(row[_QUEUE], row[_STATE], states.BLOCKED, now)
            # Who had been let in by a group leaves room for another one.
            self._admit((row for row in rows if row[_STATE] == states.PENDING), now)

        return self._change(filter, _WAITING, change, "held IS NULL")

    def release(self, filter: JobFilter, now: int) -> int:
        """Let held jobs go on as if they had not been held; how many there were."""

        def change(rows: Sequence[Row]) -> None:
            self._set("held = NULL, updated_at = ?", (now,), rows, "held = 1")
            make_ready(self._db, [row[_SEQ] for row in rows], now)

        return self._change(filter, (states.BLOCKED,), change, "held = 1")

    def edit(
        self, filter: JobFilter, changes: Mapping[str, object], now: int, *, merge: Merge | None = None
    ) -> int:
        """Give jobs these values, which somebody has checked; how many neither run nor have ended.

        `merge` changes what several fields share a column for. What it refuses for one job is refused before
        any is changed.
        """
        unknown = set(changes) - EDITABLE
        assert not unknown, unknown
        if merge is not None:
            self._rehearse(filter, merge)

        def change(rows: Sequence[Row]) -> None:
            for values, part in _alike(rows, merge, changes.get("run_at"), now):
                new = {**changes, **values}
                self._set(*_assignments(new, now), part)
                self._db.tally.went((row[_QUEUE], row[_STATE]) for row in part)
                self._db.tally.came((new.get("queue", row[_QUEUE]), new["state"]) for row in part)
            if "run_at" in changes:
                self._admit(rows, now)

        return self._change(filter, _WAITING, change)

    def set_progress(self, id: str, claim: str, percent: int, text: str | None, now: int) -> bool:
        """What a command says about itself; False if the job is not this claim's any more."""

        def body(earlier: bool | None) -> bool:
            found = self._db.run(
                "UPDATE jobs SET progress = ?, progress_text = ?, updated_at = ? "
                "WHERE id = ? AND claim = ? AND state = 'processing'",
                (percent, text, now, id, claim),
            )
            return bool(found or earlier)

        return self._db.write("change", body)

    def progressing(self, filter: JobFilter, *, limit: int) -> list[Job]:
        """Running jobs that have said how far they are, longest first."""
        condition, values = where(filter, self._db.dialect, (states.PROCESSING,))
        rows = self._db.all(
            f"SELECT {', '.join(JOB_COLUMNS)} FROM jobs WHERE {condition} AND progress IS NOT NULL "
            "ORDER BY started_at, seq LIMIT ?",
            (*values, limit),
        )
        return [job_from_row(row) for row in rows]

    # --- some at a time ---------------------------------------------------------------------------

    def _change(
        self,
        filter: JobFilter,
        allowed: tuple[str, ...],
        change: Callable[[Sequence[Row]], None],
        guard: str = "1 = 1",
    ) -> int:
        """Change what matches in these states: a transaction for each chunk; how many there were."""
        total = 0
        for portion in portions(filter):
            condition, values = where(portion, self._db.dialect, allowed)
            condition = f"{condition} AND {guard}"
            after: object = 0
            while seqs := self._next(condition, values, after):
                total += self._write(condition, values, seqs, change)
                after = seqs[-1]
                if len(seqs) < CHUNK:
                    break
        return total

    def _next(self, condition: str, values: Sequence[object], after: object) -> list[object]:
        """By number, so that a job which still matches after its change is not met again."""
        rows = self._db.all(
            f"SELECT seq FROM jobs WHERE {condition} AND seq > ? ORDER BY seq LIMIT ?",
            (*values, after, CHUNK),
        )
        return [row[0] for row in rows]

    def _write(
        self,
        condition: str,
        values: Sequence[object],
        seqs: Sequence[object],
        change: Callable[[Sequence[Row]], None],
    ) -> int:
        db = self._db
        these, numbers = db.dialect.these("seq", seqs)

        def body(earlier: int | None) -> int:
            rows = db.all(
                f"SELECT {', '.join(_READ)} FROM jobs WHERE {condition} AND {these} "
                f"ORDER BY seq{db.dialect.hold}",
                (*values, *numbers),
            )
            if rows:
                change(rows)
            # If the first run took effect after all, the second may find less to do.
            return max(len(rows), earlier or 0)

        return db.write("change", body)

    def _set(
        self, assignments: str, values: Sequence[object], rows: Sequence[Row], guard: str = "1 = 1"
    ) -> None:
        these, seqs = self._db.dialect.these("seq", [row[_SEQ] for row in rows])
        waiting = ", ".join(f"'{state}'" for state in _WAITING)
        self._db.run(
            f"UPDATE jobs SET {assignments} WHERE state IN ({waiting}) AND {guard} AND {these}",
            (*values, *seqs),
        )

    def _admit(self, rows: Iterable[Row], now: int) -> None:
        admit(self._db, {row[_GROUP] for row in rows if row[_GROUP] is not None}, now)

    def _rehearse(self, filter: JobFilter, merge: Merge) -> None:
        for portion in portions(filter):
            condition, values = where(portion, self._db.dialect, _WAITING)
            for own in self._db.all(
                f"SELECT DISTINCT rules, env, notify FROM jobs WHERE {condition}", values
            ):
                merge(*map(_text, own))


def _alike(
    rows: Sequence[Row], merge: Merge | None, run_at: object, now: int
) -> list[tuple[Mapping[str, object], list[Row]]]:
    """The rows, by what becomes of their own values."""
    parts: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        state = row[_STATE] if run_at is None else _state_then(row, int(str(run_at)), now)
        own = (row[_RULES], row[_ENV], row[_NOTIFY]) if merge is not None else ()
        parts.setdefault((state, *own), []).append(row)
    return [
        ({"state": state, **(merge(*map(_text, own)) if merge is not None else {})}, part)
        for (state, *own), part in parts.items()
    ]


def _state_then(row: Row, run_at: int, now: int) -> object:
    """Time and state go together, as when the job came in."""
    state = row[_STATE]
    if run_at <= now:
        # A job that waits for its time is ready, but a group lets its jobs in itself.
        ready = states.PENDING if row[_GROUP] is None else states.BLOCKED
        return ready if state in states.TIMED else state
    # One that only waits for its turn waits for its time. A held one, or one that waits for others, does not
    # need to be told: it is asked for its time when it becomes ready.
    free = row[_HELD] is None and row[_WAITS] is None
    waits = state == states.PENDING or (state == states.BLOCKED and free)
    return states.SCHEDULED if waits else state


def _assignments(values: Mapping[str, object], now: int) -> tuple[str, list[object]]:
    names = [f"{name} = ?" for name in values]
    given = dict(values)
    if "run_at" in given:
        given["run_at"] = max(int(str(given["run_at"])), now)
    return ", ".join([*names, "updated_at = ?"]), [*given.values(), now]


def _text(value: object) -> str | None:
    return None if value is None else str(value)

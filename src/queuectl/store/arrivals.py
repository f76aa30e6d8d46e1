"""What new jobs bring along besides themselves: unique keys, groups, jobs to wait for.

Collected while the jobs come in, and stored in the same transaction: unique keys before them, the rest after.
"""

from __future__ import annotations

from queuectl.core import states
from queuectl.core.cycles import find_cycle
from queuectl.errors import InvalidInput, Refused
from queuectl.store.dialect import Insert
from queuectl.store.links import Links
from queuectl.store.readiness import admit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from queuectl.core.job import NewJob
    from queuectl.store.connection import Connection

_CHUNK = 1_000
_GROUPS = Insert("job_groups", ("name", "concurrency", "updated_at"), key="name")


class Arrivals:
    """The jobs with conditions of one call, whose ids are known."""

    def __init__(self) -> None:
        self._jobs: list[NewJob] = []
        self.left_out: set[object] = set()  # ids of those that are not stored: another job stands for them

    def add(self, jobs: Iterable[NewJob]) -> None:
        self._jobs += [job for job in jobs if job.conditions is not None]

    def __bool__(self) -> bool:
        return bool(self._jobs)

    @property
    def has_keys(self) -> bool:
        return any(job.conditions is not None and job.conditions.unique_key for job in self._jobs)

    # --- before the jobs --------------------------------------------------------------------------

    def make_room(self, db: Connection, now: int, *, skip: bool) -> None:
        """Look who has the unique keys of these jobs; what may be replaced is. With `skip`, jobs whose id
        exists are left out, with all that they bring along.
        """
        self.left_out.clear()
        if skip:
            self._leave_out_known(db)
        wanted: dict[str, NewJob] = {}
        for job in self._jobs:
            assert job.conditions is not None
            if job.id in self.left_out:
                continue
            unique = job.conditions.unique_key
            if unique is None:
                continue
            if unique in wanted:
                self._second(job, wanted[unique])
            else:
                wanted[unique] = job
        keys = sorted(wanted)
        for start in range(0, len(keys), _CHUNK):
            part = keys[start : start + _CHUNK]
            marks = ", ".join("?" * len(part))
            for key, *holder in db.all(
                f"SELECT unique_key, seq, id, state, queue, notify FROM jobs WHERE unique_key IS NOT NULL "
                f"AND finished_at IS NULL AND {db.dialect.live_key} IN ({marks}) "
                f"ORDER BY seq{db.dialect.hold}",
                part,
            ):
                self._meet(db, wanted[str(key)], holder, now)

    def _leave_out_known(self, db: Connection) -> None:
        ids = sorted(str(job.id) for job in self._jobs if not job.made)
        for start in range(0, len(ids), _CHUNK):
            part = ids[start : start + _CHUNK]
            marks = ", ".join("?" * len(part))
            self.left_out.update(row[0] for row in db.all(f"SELECT id FROM jobs WHERE id IN ({marks})", part))
        for job in self._jobs:
            assert job.conditions is not None
            # Who follows a job of the same call goes with it.
            if any(not isinstance(ref, str) and ref.id in self.left_out for _, ref in job.conditions.after):
                self.left_out.add(job.id)

    def _second(self, job: NewJob, first: NewJob) -> None:
        assert job.conditions is not None
        if job.conditions.unique_rule != "skip":
            raise InvalidInput(
                f"the unique key {job.conditions.unique_key!r} is given twice", "or choose --if-live skip"
            )
        self._leave_out(job, first.id)

    def _leave_out(self, job: NewJob, instead: object) -> None:
        assert job.conditions is not None
        job.conditions.instead = str(instead)
        self.left_out.add(job.id)

    def _meet(self, db: Connection, job: NewJob, holder: Sequence[object], now: int) -> None:
        seq, id, state, queue, notify = holder
        assert job.conditions is not None
        rule, key = job.conditions.unique_rule, job.conditions.unique_key
        if id == job.id:
            return  # the same id: that is told by the id's own rule
        if rule == "skip":
            self._leave_out(job, id)
        elif rule == "fail":
            raise Refused(
                f"job {id} with the unique key {key!r} is {state}",
                "wait for it, or choose --if-live skip or replace",
            )
        elif state == states.PROCESSING:
            raise Refused(f"job {id} with the unique key {key!r} runs already", f"queuectl cancel {id}")
        else:
            db.run(
                "UPDATE jobs SET state = 'cancelled', finished_at = ?, updated_at = ?, last_error = ? "
                "WHERE seq = ?",
                (now, now, f"replaced by job {job.id}", seq),
            )
            db.tally.moved(queue, state, states.CANCELLED, now)
            Links(db).note([seq])
            from queuectl.store.notices import Notices

            Notices(db).of_cancelled([(seq, queue, notify)], now)

    # --- after the jobs ---------------------------------------------------------------------------

    def follow_up(self, db: Connection, now: int) -> None:
        """Groups and their limits, and who waits for whom."""
        jobs = [job for job in self._jobs if job.id not in self.left_out]
        self._store_groups(db, jobs, now)
        edges = self._edges(jobs)
        if edges:
            Links(db).add(edges)

    def _store_groups(self, db: Connection, jobs: Sequence[NewJob], now: int) -> None:
        limits: dict[str, int | None] = {}
        for job in jobs:
            assert job.conditions is not None
            if job.conditions.group is not None:
                limit = job.conditions.group_limit
                limits[job.conditions.group] = limit or limits.get(job.conditions.group)
        for name, limit in sorted(limits.items()):
            db.insert(_GROUPS, [(name, limit or 1, now)], skip=True)
            if limit is not None:
                db.run(
                    "UPDATE job_groups SET concurrency = ?, updated_at = ? WHERE name = ?", (limit, now, name)
                )
        admit(db, limits, now)

    def _edges(self, jobs: Sequence[NewJob]) -> list[tuple[str, str, str]]:
        names: dict[str, str] = {}
        for job in jobs:
            assert job.conditions is not None
            if job.conditions.name is not None:
                if job.conditions.name in names:
                    raise InvalidInput(
                        f"two jobs are named {job.conditions.name!r}", "give each its own name"
                    )
                names[job.conditions.name] = str(job.id)
        edges = []
        for job in jobs:
            assert job.conditions is not None
            for kind, ref in job.conditions.after:
                parent = names.get(ref, ref) if isinstance(ref, str) else str(ref.id)
                edges.append((str(job.id), kind, parent))
        _refuse_cycles(edges, {id: name for name, id in names.items()})
        return edges


def _refuse_cycles(edges: Sequence[tuple[str, str, str]], names: dict[str, str]) -> None:
    """Among the new ones alone: what exists already cannot wait for a job that did not exist."""
    waits_for: dict[str, list[str]] = {}
    for child, _, parent in edges:
        waits_for.setdefault(child, []).append(parent)
    cycle = find_cycle(waits_for)
    if cycle is not None:
        path = " → ".join(
            names.get(id, id) for id in (cycle if len(cycle) < 12 else [*cycle[:10], "…", cycle[-1]])
        )
        raise InvalidInput(f"these jobs wait for each other in a circle: {path}", "take one of them out")

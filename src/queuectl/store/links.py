"""Which job waits for which, and what follows when one has ended.

A job that has ended and that others wait for is noted in `unsettled`, in the transaction of its end. Telling
the others is done in steps of bounded size, by whoever comes by: a parent with 10,000 children, or a chain of
10,000, never makes anybody wait. Each step goes by what is stored, so that it may be repeated.
"""

from __future__ import annotations

from queuectl.core import states
from queuectl.core.conditions import ANY, FAILURE, SUCCESS
from queuectl.core.ids import is_made
from queuectl.errors import InvalidInput
from queuectl.store.dialect import Insert
from queuectl.store.readiness import make_ready

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuectl.store.connection import Connection, Row

_STEP = 500  # children at a time
_CHUNK = 1_000
_EDGES = Insert("dependencies", ("parent_seq", "child_seq", "kind"))
_UNSETTLED = Insert("unsettled", ("seq",))


class Link:
    """The other end of a dependency."""

    __slots__ = ("id", "kind", "seq", "settled", "state")

    def __init__(self, seq: int, id: str, state: str, kind: str, settled: int | None) -> None:
        self.seq = seq
        self.id = id
        self.state = state
        self.kind = kind  # what the child waits for
        self.settled = settled  # None: not yet; 1: met; 0: not met


class Edge:
    """One job waits for another."""

    __slots__ = ("child_seq", "kind", "parent_seq", "settled")

    def __init__(self, parent_seq: int, child_seq: int, kind: str, settled: int | None) -> None:
        self.parent_seq = parent_seq
        self.child_seq = child_seq
        self.kind = kind
        self.settled = settled


def is_met(kind: str, state: str) -> bool:
    """Whether a parent that ended in this state is what its child waited for."""
    return kind == ANY or state == {SUCCESS: states.COMPLETED, FAILURE: states.DEAD}[kind]


class Links:
    """Over a store's connection."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    # --- look -------------------------------------------------------------------------------------

    def parents(self, seq: int) -> list[Link]:
        """The jobs that this one waits for, or waited for."""
        return self._links("d.parent_seq = j.seq WHERE d.child_seq = ?", seq)

    def children(self, seq: int) -> list[Link]:
        """The jobs that wait for this one, or waited for it."""
        return self._links("d.child_seq = j.seq WHERE d.parent_seq = ?", seq)

    def _links(self, condition: str, seq: int) -> list[Link]:
        rows = self._db.all(
            f"SELECT j.seq, j.id, j.state, d.kind, d.settled FROM dependencies d JOIN jobs j ON {condition} "
            "ORDER BY j.seq",
            (seq,),
        )
        return [Link(*row) for row in rows]  # type: ignore[arg-type]

    def parents_of(self, seqs: Sequence[int]) -> list[Edge]:
        return self._edges("child_seq", seqs)

    def children_of(self, seqs: Sequence[int]) -> list[Edge]:
        return self._edges("parent_seq", seqs)

    def _edges(self, column: str, seqs: Sequence[int]) -> list[Edge]:
        these, values = self._db.dialect.these(column, seqs)
        rows = self._db.all(
            f"SELECT parent_seq, child_seq, kind, settled FROM dependencies WHERE {these} "
            "ORDER BY parent_seq, child_seq",
            values,
        )
        return [Edge(*row) for row in rows]  # type: ignore[arg-type]

    def jobs(self, seqs: Sequence[int]) -> list[Row]:
        """Number, id, state and command of each."""
        these, values = self._db.dialect.these("seq", seqs)
        return self._db.all(f"SELECT seq, id, state, command FROM jobs WHERE {these} ORDER BY seq", values)

    def waiting(self, limit: int) -> list[int]:
        """Jobs that wait for others, oldest first."""
        rows = self._db.all(
            "SELECT DISTINCT child_seq FROM dependencies WHERE settled IS NULL ORDER BY child_seq LIMIT ?",
            (limit,),
        )
        return [int(str(row[0])) for row in rows]

    # --- in the transaction of others -------------------------------------------------------------

    def add(self, edges: Sequence[tuple[str, str, str]]) -> None:
        """New jobs (child id, kind, parent id) wait for jobs that exist, or came in with them."""
        known = self._locked({id for child, _, parent in edges for id in (child, parent)})
        rows = []
        for child, kind, parent in edges:
            if parent not in known:
                # An id that we have just made means nothing to anybody, and will not be used.
                who = "the new job" if is_made(child) else f"job {child}"
                raise InvalidInput(
                    f"{who} waits for {parent}, which does not exist",
                    "enqueue that one first, or both in one file",
                )
            rows.append((known[parent][0], known[child][0], kind))
        rows.sort(key=lambda row: (int(str(row[0])), int(str(row[1]))))
        self._db.insert(_EDGES, rows)
        self.note([known[parent][0] for _, _, parent in edges if known[parent][1] in states.TERMINAL])

    def _locked(self, ids: set[str]) -> dict[object, Row]:
        """Number and state by id. None of them can end before we have: its end would miss the new edge."""
        found: dict[object, Row] = {}
        names = sorted(ids)
        for start in range(0, len(names), _CHUNK):
            part = names[start : start + _CHUNK]
            marks = ", ".join("?" * len(part))
            for id, seq, state in self._db.all(
                f"SELECT id, seq, state FROM jobs WHERE id IN ({marks}) ORDER BY seq{self._db.dialect.keep}",
                part,
            ):
                found[id] = (seq, state)
        return found

    def note(self, seqs: Sequence[object]) -> bool:
        """These have ended or begun anew: whoever waits for them has to be told. Whether anybody does."""
        found = False
        for start in range(0, len(seqs), _CHUNK):
            these, values = self._db.dialect.these("parent_seq", seqs[start : start + _CHUNK])
            rows = self._db.all(
                f"SELECT DISTINCT parent_seq FROM dependencies WHERE {these} "
                "AND parent_seq NOT IN (SELECT seq FROM unsettled)",
                values,
            )
            if rows:
                self._db.insert(_UNSETTLED, rows)
                found = True
        return found

    def settle(self, now: int) -> bool:
        """Tell some of those who wait for one job; False if there is nobody left to tell."""
        db = self._db
        rows = db.all(f"SELECT seq FROM unsettled ORDER BY seq LIMIT 1{db.dialect.take}")
        if not rows:
            return False
        (parent,) = rows[0]
        # Kept as it is until we are done: it could be retried meanwhile.
        found = db.one(f"SELECT id, state FROM jobs WHERE seq = ?{db.dialect.keep}", (parent,))
        if found is None:
            told = self._tell_end(parent, states.CANCELLED, "a job that it waited for was deleted", now)
        elif found[1] in states.TERMINAL:
            reason = f"job {found[0]}, which it waited for, is {found[1]}"
            told = self._tell_end(parent, str(found[1]), reason, now)
        else:
            told = self._tell_beginning(parent, now)
        if told < _STEP:
            db.run("DELETE FROM unsettled WHERE seq = ?", (parent,))
            if found is None:
                db.run("DELETE FROM dependencies WHERE parent_seq = ?", (parent,))
        return True

    def forget(self, seqs: Sequence[object]) -> None:
        """These jobs are about to be deleted. Whoever still waits for one is told later."""
        waiting, values = self._db.dialect.these("parent_seq", seqs)
        self._db.run(f"DELETE FROM dependencies WHERE settled IS NOT NULL AND {waiting}", values)
        self.note(seqs)
        before, values = self._db.dialect.these("child_seq", seqs)
        self._db.run(f"DELETE FROM dependencies WHERE {before}", values)

    # --- steps ------------------------------------------------------------------------------------

    def _tell_end(self, parent: object, state: str, reason: str, now: int) -> int:
        rows = self._db.all(
            "SELECT child_seq, kind FROM dependencies WHERE parent_seq = ? AND settled IS NULL "
            "ORDER BY child_seq LIMIT ?",
            (parent, _STEP),
        )
        met = [child for child, kind in rows if is_met(str(kind), state)]
        unmet = [child for child, kind in rows if not is_met(str(kind), state)]
        if met:
            self._mark(parent, met, 1)
            these, values = self._db.dialect.these("seq", met)
            self._db.run(
                "UPDATE jobs SET waits = CASE WHEN waits > 1 THEN waits - 1 ELSE NULL END, updated_at = ? "
                f"WHERE state = 'blocked' AND waits IS NOT NULL AND {these}",
                (now, *values),
            )
            make_ready(self._db, met, now)
        if unmet:
            self._mark(parent, unmet, 0)
            self._cancel(unmet, reason, now)
        return len(rows)

    def _mark(self, parent: object, children: Sequence[object], settled: int | None) -> None:
        these, values = self._db.dialect.these("child_seq", children)
        self._db.run(
            f"UPDATE dependencies SET settled = ? WHERE parent_seq = ? AND {these}",
            (settled, parent, *values),
        )

    def _cancel(self, seqs: Sequence[object], reason: str, now: int) -> None:
        db = self._db
        these, values = db.dialect.these("seq", seqs)
        rows = db.all(
            f"SELECT seq, queue, notify FROM jobs WHERE state = 'blocked' AND waits IS NOT NULL AND {these} "
            f"ORDER BY seq{db.dialect.hold}",
            values,
        )
        if rows:
            these, values = db.dialect.these("seq", [row[0] for row in rows])
            db.run(
                "UPDATE jobs SET state = 'cancelled', unmet = 1, finished_at = ?, updated_at = ?, "
                f"last_error = ? WHERE {these}",
                (now, now, reason, *values),
            )
            for _, queue, _ in rows:
                db.tally.moved(queue, states.BLOCKED, states.CANCELLED, now)
            from queuectl.store.notices import Notices

            Notices(db).of_cancelled(rows, now)
        self.note(seqs)

    def _tell_beginning(self, parent: object, now: int) -> int:
        """The parent runs again: what was cancelled because of it waits again."""
        rows = self._db.all(
            "SELECT child_seq FROM dependencies WHERE parent_seq = ? AND settled = 0 "
            "ORDER BY child_seq LIMIT ?",
            (parent, _STEP),
        )
        children = [row[0] for row in rows]
        if children:
            self._mark(parent, children, None)
            back = [child for child in children if self._waits_again(child, now)]
            self.note(back)
        return len(rows)

    def _waits_again(self, child: object, now: int) -> bool:
        db = self._db
        row = db.one(
            "SELECT unique_key, queue FROM jobs WHERE seq = ? AND state = 'cancelled' AND unmet = 1"
            + db.dialect.hold,
            (child,),
        )
        if row is None or db.one("SELECT 1 FROM dependencies WHERE child_seq = ? AND settled = 0", (child,)):
            return False
        if row[0] is not None and db.one(
            f"SELECT 1 FROM jobs WHERE unique_key IS NOT NULL AND {db.dialect.live_key} = ? "
            "AND finished_at IS NULL",
            row[:1],
        ):
            return False  # another one has taken its place
        waits = db.all("SELECT count(*) FROM dependencies WHERE child_seq = ? AND settled IS NULL", (child,))[
            0
        ][0]
        db.run(
            "UPDATE jobs SET state = 'blocked', waits = ?, unmet = NULL, finished_at = NULL, "
            "last_error = NULL, updated_at = ? WHERE seq = ?",
            (waits, now, child),
        )
        db.tally.moved(row[1], states.CANCELLED, states.BLOCKED, now)
        return True

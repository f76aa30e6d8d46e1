"""What is cleaned away: ended jobs by age and by number, and the output of ended jobs by its size.

Every method works on a bounded number of rows and leaves going on to its caller. Deleting jobs is left to
`store.jobs`, deleting log files to whoever calls.
"""

from __future__ import annotations

from queuectl.store.filters import marks
from queuectl.store.messages import Piece
from queuectl.store.tallies import totals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from queuectl.store.connection import Connection

_ENDED = "FROM jobs WHERE finished_at IS NOT NULL AND state = ? AND queue"


OLDER = "finished_at <= ? AND (finished_at < ? OR seq < ?)"  # than a cut, with the values of `older_than`
Cut = tuple[int, int]  # a time, and the number of a job that ended then: very many may have ended at once


def older_than(cut: Cut) -> tuple[int, int, int]:
    return cut[0], *cut


def cuts(
    db: Connection, state: str, *, before: int | None, keep: int, most: int
) -> Iterator[tuple[str, Cut]]:
    """Queues with jobs to delete, and the first that stays: at most `most` of each queue at once, always the
    oldest, never one of the `keep` newest of a queue.
    """
    counts = totals(db) if keep else {}
    for queue in _queues(db, state):
        cut = None if before is None else (before, -1)
        if keep:
            excess = min(counts.get(queue, {}).get(state, 0) - keep, most)
            beyond = _cut(db, state, queue, keep, excess) if excess > 0 else None
            if beyond is None:
                continue
            cut = beyond if cut is None else min(cut, beyond)
        assert cut is not None
        if db.all(f"SELECT 1 {_ENDED} = ? AND {OLDER} LIMIT 1", (state, queue, *older_than(cut))):
            yield queue, cut


def _queues(db: Connection, state: str) -> Iterator[str]:
    """Those that have ended jobs, by an index seek each."""
    queue: object = ""
    while True:
        # Not as a minimum: for that MariaDB reads them all.
        row = db.one(f"SELECT queue {_ENDED} > ? ORDER BY queue LIMIT 1", (state, queue))
        if row is None:
            return
        queue = row[0]
        yield str(queue)


def _cut(db: Connection, state: str, queue: str, keep: int, excess: int) -> Cut | None:
    """The first that stays. None: somebody else deletes too, look again later.

    Several may do this at once. The count is read after the time: whatever was deleted in between makes it
    smaller, so whoever goes on leaves enough, and all of them delete the same oldest ones.
    """
    row = db.one(
        f"SELECT finished_at, seq {_ENDED} = ? ORDER BY finished_at, seq LIMIT 1 OFFSET ?",
        (state, queue, excess),
    )
    left = totals(db, queue).get(queue, {}).get(state, 0)
    return (int(str(row[0])), int(str(row[1]))) if row is not None and left - keep >= excess else None


def cleanable(db: Connection, state: str, *, before: int, keep: int) -> int:
    """How many jobs are older than that and not among the newest of their queue."""
    total = 0
    counts = totals(db)
    for queue in _queues(db, state):
        (older,) = db.all(f"SELECT count(*) {_ENDED} = ? AND finished_at < ?", (state, queue, before))[0]
        total += min(int(str(older)), max(counts.get(queue, {}).get(state, 0) - keep, 0))
    return total


class Outputs:
    """The output of attempts, gone through in the order of their jobs: the oldest first."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def pieces(self, after: tuple[int, int], *, limit: int) -> tuple[list[Piece], tuple[int, int] | None]:
        """What the next attempts have kept, and where to go on; None: there are no more."""
        seq, run = after
        rows = self._db.all(
            "SELECT job_seq, run, octet_length(output), "
            "CASE WHEN log IS NULL THEN 0 ELSE output_bytes - output_dropped END, log, host FROM attempts "
            "WHERE job_seq >= ? AND (job_seq > ? OR run > ?) ORDER BY job_seq, run LIMIT ?",
            (seq, seq, run, limit),
        )
        found = [
            Piece(
                int(str(row[0])),
                int(str(row[1])),
                int(str(row[2] or 0)) + int(str(row[3])),
                None if row[4] is None else str(row[4]),
                None if row[5] is None else str(row[5]),
            )
            for row in rows
        ]
        last = (found[-1].seq, found[-1].run) if len(rows) == limit else None
        return [piece for piece in found if piece.size or piece.log], last

    def drop(self, pieces: Sequence[Piece]) -> list[Piece]:
        """Forget the output of these attempts, but of jobs that have ended only; those for which it was done.

        The job and the record of the attempt stay. Their log files are the caller's to delete.
        """
        db = self._db

        def body(_: list[Piece] | None) -> list[Piece]:
            seqs = sorted({piece.seq for piece in pieces})
            rows = db.all(
                f"SELECT seq FROM jobs WHERE seq IN ({marks(seqs)}) AND finished_at IS NOT NULL"
                f"{db.dialect.hold}",
                seqs,
            )
            ended = {int(str(row[0])) for row in rows}
            these = [piece for piece in pieces if piece.seq in ended]
            for piece in these:
                db.run(
                    "UPDATE attempts SET output = NULL, log = NULL, output_dropped = output_bytes "
                    "WHERE job_seq = ? AND run = ?",
                    (piece.seq, piece.run),
                )
            return these

        return db.write("change", body) if pieces else []

    def present(self, numbers: Sequence[int]) -> set[int]:
        """Which of these jobs exist."""
        seqs = sorted(set(numbers))
        rows = self._db.all(f"SELECT seq FROM jobs WHERE seq IN ({marks(seqs)})", seqs)
        return {int(str(row[0])) for row in rows}

    def cleaned(self, names: Sequence[tuple[int, int]]) -> set[tuple[int, int]]:
        """Which of these attempts have lost their output here, so that no file of it is needed."""
        seqs = sorted({seq for seq, _ in names})
        rows = self._db.all(
            f"SELECT job_seq, run FROM attempts WHERE job_seq IN ({marks(seqs)}) AND output IS NULL "
            "AND log IS NULL AND output_bytes > 0 AND output_dropped = output_bytes",
            seqs,
        )
        return {(int(str(seq)), int(str(run))) for seq, run in rows}.intersection(names)

"""What waits and what runs, for an estimate: counts that are kept, and samples of jobs.

Each read is bounded, however many jobs there are. What follows from it is left to `core.estimates`.
"""

from __future__ import annotations

from queuectl.store.tallies import totals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.store.connection import Connection, Row

    Command = tuple[str, str | None, str | None]  # line, argv, directory

_COMMAND = "command, argv, cwd"


class Backlog:
    """Over a store's connection."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def counts(self, queue: str | None = None) -> dict[str, dict[str, int]]:
        """Jobs by queue and state."""
        return totals(self._db, queue)

    def pending(self, queue: str, most: int) -> list[Command]:
        """Commands of pending jobs: most from the head of the queue, some from its end.

        Those that need resources stand in another line; they are taken to be like these.
        """
        order = self._db.dialect.claim_order
        some = self._ordered(queue, order, most - most // 3)
        if len(some) == most - most // 3:  # there may be more: from the other end
            some += self._ordered(queue, _reversed(order), most // 3)
        return [_command(row) for row in some]

    def _ordered(self, queue: str, order: str, most: int) -> list[Row]:
        return list(
            self._db.all(
                f"SELECT {_COMMAND} FROM {self._db.dialect.claim_from} WHERE state = 'pending' "
                f"AND needs IS NULL AND queue = ? ORDER BY {order} LIMIT ?",
                (queue, most),
            )
        )

    def failed(self, most: int) -> list[tuple[str, Command, int]]:
        """Of those that are tried again, the next of any queue: queue, command, when."""
        rows = self._db.all(
            f"SELECT queue, run_at, {_COMMAND} FROM {self._db.dialect.due_from} "
            "WHERE state IN ('scheduled', 'failed') AND state = 'failed' ORDER BY run_at LIMIT ?",
            (most,),
        )
        return [(str(row[0]), _command(row[2:]), int(str(row[1]))) for row in rows]

    def running(self, most: int) -> list[tuple[str, Command, int, int | None]]:
        """Queue, command, start, progress."""
        rows = self._db.all(
            f"SELECT queue, started_at, progress, {_COMMAND} FROM jobs WHERE state = 'processing' LIMIT ?",
            (most,),
        )
        return [
            (
                str(row[0]),
                _command(row[3:]),
                int(str(row[1] or 0)),
                None if row[2] is None else int(str(row[2])),
            )
            for row in rows
        ]


def _command(row: Row) -> Command:
    command, argv, cwd = row
    return str(command), None if argv is None else str(argv), None if cwd is None else str(cwd)


def _reversed(order: str) -> str:
    """The same index, from its end."""
    parts = order.split(", ")
    return ", ".join(p.removesuffix(" DESC") if p.endswith(" DESC") else f"{p} DESC" for p in parts)

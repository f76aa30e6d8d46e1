"""Workers as the store knows them: registration, leases, orders, death.

A lease belongs to a worker, not to each job. Dead is final: who was declared dead registers anew.
"""

from __future__ import annotations

from queuectl.core.rows import JOB_COLUMNS, job_from_row
from queuectl.errors import WorkerFenced
from queuectl.store.connection import Clash
from queuectl.store.dialect import Insert
from queuectl.store.filters import marks
from queuectl.store.messages import WORKER_COLUMNS, Orders, Worker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from queuectl.core.job import Job
    from queuectl.paths import Location
    from queuectl.store.connection import Connection

_WORKER_COLUMNS = ", ".join(WORKER_COLUMNS)
_JOB_COLUMNS = ", ".join(JOB_COLUMNS)
_WORKERS = Insert("workers", WORKER_COLUMNS)


class Coordination:
    """Registration, leases, orders and death of workers. `lease_clock` is the engine's own."""

    def __init__(self, connection: Connection, location: Location, lease_clock: Callable[[], int]) -> None:
        self.connection = connection
        self.location = location
        self.lease_clock = lease_clock

    def presence(self, worker: Worker) -> str:
        """Whether a worker's process lives: alive, dead, or unknown when only its lease can tell.

        All workers of a file are on its machine. Those of a server may be anywhere, and equal names of
        hosts prove nothing.
        """
        from queuectl import system

        identity = system.Identity.decode(worker.identity)
        return system.liveness(identity, same_host=not self.location.shared)

    def register(self, worker: Worker, lease_ms: int) -> None:
        unsure: int | None = None  # the lease of an earlier run, if its commit arrived after all

        def body(earlier: int | None) -> int:
            nonlocal unsure
            unsure = earlier
            if earlier is not None and self._lease_of(worker.id) == earlier:
                return earlier
            # In the transaction: we may have waited for the lock.
            worker.lease_until = self.lease_clock() + lease_ms
            self.connection.insert(_WORKERS, [[getattr(worker, name) for name in WORKER_COLUMNS]])
            return worker.lease_until

        try:
            worker.lease_until = self.connection.write("register", body)
        except Clash:
            # Our own, if it was still on its way when we looked.
            if unsure is None or self._lease_of(worker.id) != unsure:
                raise
            worker.lease_until = unsure

    def _lease_of(self, worker_id: str) -> object:
        row = self.connection.one("SELECT lease_until FROM workers WHERE id = ?", (worker_id,))
        return None if row is None else row[0]

    def heartbeat(
        self, worker_id: str, lease_ms: int, running: int, now: int, memory_kb: int | None = None
    ) -> Orders:
        """Renew the lease; the answer carries what others want of this worker."""

        def body(_: int | None) -> int:
            return self.connection.run(
                "UPDATE workers SET lease_until = ?, seen_at = ?, running = ?, memory_kb = ? "
                "WHERE id = ? AND state = 'alive'",
                (self.lease_clock() + lease_ms, now, running, memory_kb, worker_id),
            )

        if not self.connection.write("heartbeat", body):
            raise WorkerFenced(f"worker {worker_id} was declared dead")
        return self.orders(worker_id)

    def orders(self, worker_id: str) -> Orders:
        row = self.connection.one("SELECT control FROM workers WHERE id = ?", (worker_id,))
        cancel = self.connection.all(
            "SELECT seq FROM jobs WHERE state = 'processing' AND worker_id = ? AND cancel_requested = 1",
            (worker_id,),
        )
        control = row[0] if row is not None else None
        return Orders(None if control is None else str(control), [int(str(r[0])) for r in cancel])

    def workers(self) -> list[Worker]:
        clock = self.lease_clock()  # before the rows: a lease that is read later can only be longer
        rows = self.connection.all(f"SELECT {_WORKER_COLUMNS} FROM workers ORDER BY started_at, id")
        return [_worker_from_row(row, clock) for row in rows]

    def suspects(self, by: str) -> list[Worker]:
        """Those that are gone by their row or their lease, and the next one after `by` on its machine.

        Every worker asks this at every heartbeat: the others are not even read.
        """
        from queuectl import system

        clock = self.lease_clock()
        columns = f"SELECT {_WORKER_COLUMNS} FROM workers WHERE"
        # Of a file all are on this machine, whatever it was called when they came.
        near, here = ("host = ? AND", [system.hostname()]) if self.location.shared else ("", [])
        following = f"{near} id <> ? ORDER BY id LIMIT 1"
        rows = [
            *self.connection.all(f"{columns} state = 'dead' OR lease_until < ?", (clock,)),
            *(
                self.connection.all(f"{columns} id > ? AND {following}", (by, *here, by))
                or self.connection.all(f"{columns} {following}", (*here, by))
            ),
        ]
        return [_worker_from_row(row, clock) for row in rows]

    def control(self, worker_ids: Sequence[str], request: str) -> None:
        def body(_: int | None) -> int:
            return self.connection.run(
                f"UPDATE workers SET control = ? WHERE id IN ({marks(worker_ids)})", (request, *worker_ids)
            )

        if worker_ids:
            self.connection.write("control", body)

    def bury(self, worker: Worker) -> bool:
        """Declare a worker dead, unless it has renewed its lease since `worker` was read."""

        def body(_: int | None) -> int:
            return self.connection.run(
                "UPDATE workers SET state = 'dead' WHERE id = ? AND (state = 'dead' OR lease_until = ?)",
                (worker.id, worker.lease_until),
            )

        return bool(self.connection.write("bury", body))

    def claimed_by(self, worker_id: str) -> list[Job]:
        rows = self.connection.all(
            f"SELECT {_JOB_COLUMNS} FROM jobs WHERE state = 'processing' AND worker_id = ?",
            (worker_id,),
        )
        return [job_from_row(row) for row in rows]

    def claims_of(self, worker_ids: Sequence[str], *, at_once: int = 500) -> dict[str, int]:
        """How many jobs each of these workers has at this moment; whoever has none is not named.

        It asks for `at_once` workers in one statement.
        """
        found: dict[str, int] = {}
        for start in range(0, len(worker_ids), at_once):
            ids = worker_ids[start : start + at_once]
            rows = self.connection.all(
                "SELECT worker_id, count(*) FROM jobs WHERE state = 'processing' "
                f"AND worker_id IN ({marks(ids)}) GROUP BY worker_id",
                ids,
            )
            found.update((str(id), int(str(count))) for id, count in rows)
        return found

    def forget(self, worker_id: str) -> None:
        """Remove a worker that is gone and holds no job any more."""

        def body(_: int | None) -> int:
            return self.connection.run(
                "DELETE FROM workers WHERE id = ? AND NOT EXISTS "
                "(SELECT 1 FROM jobs WHERE state = 'processing' AND worker_id = ?)",
                (worker_id, worker_id),
            )

        self.connection.write("forget", body)


def _worker_from_row(row: tuple[object, ...], clock: int) -> Worker:
    worker = Worker()
    worker.read_at = clock
    for name, value in zip(WORKER_COLUMNS, row, strict=True):
        setattr(worker, name, value)
    return worker

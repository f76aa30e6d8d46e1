"""Workers as the store knows them: registration, leases, orders, death; and the stored settings.

A lease belongs to a worker, not to each job. Dead is final: who was declared dead registers anew.
"""

from __future__ import annotations

from queuectl import system
from queuectl.core.job import JOB_COLUMNS, job_from_row
from queuectl.errors import WorkerFenced
from queuectl.store.messages import WORKER_COLUMNS, Orders, Worker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuectl.core.job import Job
    from queuectl.store.connection import Connection

_WORKER_COLUMNS = ", ".join(WORKER_COLUMNS)
_JOB_COLUMNS = ", ".join(JOB_COLUMNS)


class Coordination:
    """Mixed into a store; needs `self.connection`."""

    connection: Connection

    def lease_clock(self) -> int:
        """The clock that leases are judged by: one that no administrator can set."""
        return system.lease_clock_ms()

    def lease_ended(self, worker: Worker) -> bool:
        """Whether a worker has been silent for too long; one of an earlier boot has, whatever its lease says.

        All workers of a file are on one machine, and the lease clock begins anew when that boots.
        """
        if worker.lease_until < self.lease_clock():
            return True
        identity = system.Identity.decode(worker.identity)
        # Asked again by the process: where there is no boot id, setting the clock looks like another boot.
        return identity.boot != system.boot_id() and system.liveness(identity, same_host=True) == system.DEAD

    def register(self, worker: Worker, lease_ms: int) -> None:
        marks = ", ".join("?" * len(WORKER_COLUMNS))
        with self.connection.write("register") as db:
            worker.lease_until = self.lease_clock() + lease_ms  # we may have waited for the lock
            db.run(
                f"INSERT INTO workers ({_WORKER_COLUMNS}) VALUES ({marks})",
                [getattr(worker, name) for name in WORKER_COLUMNS],
            )

    def heartbeat(self, worker_id: str, lease_ms: int, running: int, now: int) -> Orders:
        """Renew the lease; the answer carries what others want of this worker."""
        with self.connection.write("heartbeat") as db:
            renewed = db.run(
                "UPDATE workers SET lease_until = ?, seen_at = ?, running = ? "
                "WHERE id = ? AND state = 'alive'",
                (self.lease_clock() + lease_ms, now, running, worker_id),
            )
        if not renewed:
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
        rows = self.connection.all(f"SELECT {_WORKER_COLUMNS} FROM workers ORDER BY started_at, id")
        return [_worker_from_row(row) for row in rows]

    def control(self, worker_ids: Sequence[str], request: str) -> None:
        with self.connection.write("control") as db:
            db.many("UPDATE workers SET control = ? WHERE id = ?", [(request, w) for w in worker_ids])

    def bury(self, worker: Worker) -> bool:
        """Declare a worker dead, unless it has renewed its lease since `worker` was read."""
        with self.connection.write("bury") as db:
            return bool(
                db.run(
                    "UPDATE workers SET state = 'dead' WHERE id = ? AND (state = 'dead' OR lease_until = ?)",
                    (worker.id, worker.lease_until),
                )
            )

    def claimed_by(self, worker_id: str) -> list[Job]:
        rows = self.connection.all(
            f"SELECT {_JOB_COLUMNS} FROM jobs WHERE state = 'processing' AND worker_id = ?",
            (worker_id,),
        )
        return [job_from_row(row) for row in rows]

    def forget(self, worker_id: str) -> None:
        """Remove a worker that is gone and holds no job any more."""
        with self.connection.write("forget") as db:
            db.run(
                "DELETE FROM workers WHERE id = ? AND NOT EXISTS "
                "(SELECT 1 FROM jobs WHERE state = 'processing' AND worker_id = ?)",
                (worker_id, worker_id),
            )

    # --- settings ---------------------------------------------------------------------------------

    def stored_config(self) -> dict[str, str]:
        rows = self.connection.all("SELECT key, value FROM config")
        return {str(key): str(value) for key, value in rows}

    def put_config(self, key: str, value: str | None, now: int) -> None:
        """Store a setting; None removes it."""
        with self.connection.write("config") as db:
            db.run("DELETE FROM config WHERE key = ?", (key,))
            if value is not None:
                db.run(
                    "INSERT INTO config (key, value, updated_at) VALUES (?, ?, ?)",
                    (key, value, now),
                )


def _worker_from_row(row: tuple[object, ...]) -> Worker:
    worker = Worker()
    for name, value in zip(WORKER_COLUMNS, row, strict=True):
        setattr(worker, name, value)
    return worker

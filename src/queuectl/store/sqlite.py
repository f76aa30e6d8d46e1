"""The store in one SQLite file."""

from __future__ import annotations

import os
from collections import Counter

from queuectl import paths
from queuectl.clock import lease_clock_ms
from queuectl.core.batches import are_made, special
from queuectl.errors import StoreError
from queuectl.store.api import Store
from queuectl.store.connection import Clash
from queuectl.store.dialect import Insert
from queuectl.store.intake import (
    CONDITIONED_JOBS,
    JOBS,
    alike,
    arrivals_of,
    duplicate,
    insert_for,
    kinds_of,
    rows_of,
)
from queuectl.store.migrate import migrate
from queuectl.store.sqlite_connection import SqliteConnection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from queuectl.core.batches import Batch
    from queuectl.core.job import NewJob
    from queuectl.paths import Location
    from queuectl.store.arrivals import Arrivals
    from queuectl.store.compaction import SqliteCompaction
    from queuectl.store.messages import Worker
    from queuectl.store.transfer import Transfer

_ALLOW_NETWORK = "QUEUECTL_ALLOW_NETWORK_FS"
# As they are inserted later, but first of all whether the id is one that we made.
_STAGED = {
    kind: Insert("temp.staged", ("claim", *kind.columns), zeros=kind.zeros)
    for kind in (JOBS, CONDITIONED_JOBS)
}


def _refuse_network(file: str, is_network: Callable[[str], bool] | None) -> None:
    """SQLite's locks and shared memory do not work over a network: two machines would ruin the file."""
    if is_network is None:
        from queuectl import system

        is_network = system.is_network_filesystem
    if is_network(os.path.dirname(file)) and not os.environ.get(_ALLOW_NETWORK):
        raise StoreError(
            f"{file} would be on a network file system, where SQLite can lose data",
            f"choose a local disk with --db or QUEUECTL_HOME ({_ALLOW_NETWORK}=1 overrides this)",
        )


class SqliteStore(Store):
    """The store in one file."""

    connection: SqliteConnection

    def __init__(
        self,
        location: Location,
        *,
        create: bool,
        busy_ms: int = 10_000,
        is_network: Callable[[str], bool] | None = None,
    ) -> None:
        """`is_network` tells whether a directory is on another machine; None: the system is asked."""
        self.location = location
        if create:
            paths.make_parent_dir(location)
            if not os.path.exists(location.file):
                _refuse_network(location.file, is_network)
        self.connection = SqliteConnection(location.file, create=create, busy_ms=busy_ms)
        try:
            found = migrate(self.connection)
            if create:
                # Not before: a file that we refuse must not get a directory beside it.
                paths.make_private_dir(location.state_dir)
                if found == 0:
                    paths.mark_home(location)
        except BaseException:
            self.connection.close()
            raise

    # --- many jobs --------------------------------------------------------------------------------

    def enqueue_staged(self, batches: Iterable[Batch], now: int, *, skip: bool = False) -> int:
        """As `enqueue`, for batches that take their time: the write lock is held only for the last step.

        They are collected in a table of our own connection, beside the database, and moved in one statement.
        """
        db = self.connection
        conditioned: list[list[NewJob]] = []
        kinds: Counter[tuple[object, object]] = Counter()
        db.script("CREATE TEMP TABLE staged AS SELECT * FROM jobs LIMIT 0")
        try:
            db.script("BEGIN")
            for jobs in batches:
                conditioned.append(special(jobs))
                for _, part in alike(jobs, skip=False):
                    rows, common = rows_of(part, now)
                    marked = [
                        ("made" if made else None, *row)
                        for made, row in zip(are_made(part), rows, strict=True)
                    ]
                    db.insert(_STAGED[insert_for(rows, common)], marked, common=common)
                    kinds.update(kinds_of(rows, common))
            db.script("COMMIT")
            return self._move_staged(skip, arrivals_of(conditioned), kinds, now)
        finally:
            db.rollback()
            db.script("DROP TABLE temp.staged")

    def _move_staged(
        self, skip: bool, arrivals: Arrivals | None, kinds: Counter[tuple[object, object]], now: int
    ) -> int:
        db, names = self.connection, CONDITIONED_JOBS.names
        move = f"INSERT INTO jobs ({names}) SELECT {names} FROM temp.staged"

        def body(_: int | None) -> int:
            before = db.one("SELECT seq FROM sqlite_sequence WHERE name = 'jobs'") or (0,)
            if arrivals is not None:
                arrivals.make_room(db, now, skip=skip)
                db.many("DELETE FROM temp.staged WHERE id = ?", [(id,) for id in arrivals.left_out])
            if not skip:
                new = db.run(f"{move} ORDER BY rowid")
            else:
                # As in `alike`: an id of our own making is never skipped.
                new = db.run(f"{move} WHERE claim IS NOT NULL ORDER BY rowid")
                new += db.run(f"{move} WHERE claim IS NULL ORDER BY rowid ON CONFLICT (id) DO NOTHING")
            counted: Iterable[tuple[object, ...]] = [(*kind, jobs) for kind, jobs in kinds.items()]
            if new != kinds.total():  # some were left out
                counted = db.all(
                    "SELECT queue, state, count(*) FROM jobs WHERE seq > ? GROUP BY queue, state", before
                )
            for queue, state, jobs in counted:
                db.tally.enqueued(queue, state, int(str(jobs)), now)
            if arrivals is not None:
                arrivals.follow_up(db, now)
            return new

        try:
            return self.connection.write("enqueue", body)
        except Clash:
            found = self.connection.one(
                "SELECT id FROM temp.staged WHERE id IN (SELECT id FROM jobs) LIMIT 1"
            ) or self.connection.one("SELECT id FROM temp.staged GROUP BY id HAVING count(*) > 1 LIMIT 1")
            raise duplicate(self.connection, str(found[0]) if found else None) from None

    # --- leases -----------------------------------------------------------------------------------

    def lease_clock(self) -> int:
        """The clock that leases are judged by: one that no administrator can set."""
        return lease_clock_ms()

    def lease_ended(self, worker: Worker) -> bool:
        """Whether a worker has been silent for too long; one of an earlier boot has, whatever its lease says.

        All workers of a file are on one machine, and the lease clock begins anew when that boots.
        """
        from queuectl import system

        if worker.lease_until < self.lease_clock():
            return True
        if f":{system.boot_id()}:" in worker.identity:
            return False  # of this boot; told without taking it apart, as every worker asks for every other
        identity = system.Identity.decode(worker.identity)
        # Asked again by the process: where there is no boot id, setting the clock looks like another boot.
        return system.liveness(identity, same_host=True) == system.DEAD

    # --- the connection ---------------------------------------------------------------------------

    def transfer(self) -> Transfer:
        from queuectl.store.compatibility import refuse_half_known
        from queuectl.store.migrate import LATEST, schema_version
        from queuectl.store.transfer import Transfer

        refuse_half_known(self.location.shown, schema_version(self.connection), LATEST)
        return Transfer(self.connection)

    def compaction(self) -> SqliteCompaction:
        from queuectl.store.compaction import SqliteCompaction

        return SqliteCompaction(self.connection)

    def be_patient(self, busy_ms: int, answer_ms: int | None = None) -> None:  # noqa: ARG002
        self.connection.be_patient(busy_ms)  # a file answers at once

    def relax_durability(self) -> None:
        self.connection.relax_durability()

    def changed(self) -> int:
        """A number that changes when somebody else has written; costs next to nothing to ask."""
        return self.connection.data_version()

    def check_identity(self) -> None:
        self.connection.check_identity()

"""The store on a database server: workers of many machines share it."""

from __future__ import annotations

from queuectl import paths
from queuectl.core.batches import special
from queuectl.errors import StoreBusy, StoreError
from queuectl.store.api import Store
from queuectl.store.connection import Clash
from queuectl.store.filters import MOST_IDS, marks
from queuectl.store.intake import JOBS, alike, arrivals_of, duplicate, insert_jobs, rows_of
from queuectl.store.server_connection import ServerConnection
from queuectl.store.server_schema import prepare
from queuectl.store.spool import Spool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from typing import Any

    from queuectl.core.batches import Batch
    from queuectl.core.job import NewJob
    from queuectl.errors import DuplicateId
    from queuectl.paths import Location
    from queuectl.store.arrivals import Arrivals
    from queuectl.store.compaction import ServerCompaction
    from queuectl.store.messages import Worker
    from queuectl.store.spool import Part
    from queuectl.store.transfer import Transfer

_ID, _COMMAND, _CREATED_AT = (JOBS.columns.index(name) for name in ("id", "command", "created_at"))


_MOST_CLASHES = 20


class _KeyTaken(Exception):
    """A unique key or an id that was free when we looked."""


class ServerStore(Store):
    """The store on a server."""

    connection: ServerConnection

    def __init__(self, location: Location, driver: Any, *, create: bool, busy_ms: int) -> None:
        self.location = location
        self._driver = driver
        self._asked = 0
        self.connection = ServerConnection(driver, location.shown, busy_ms=busy_ms)
        try:
            prepare(self.connection, create=create)
            if create:
                paths.make_private_dir(location.state_dir)
        except BaseException:
            self.connection.close()
            raise

    # --- many jobs --------------------------------------------------------------------------------

    def enqueue(self, batches: Iterable[Batch], now: int, *, skip: bool = False) -> int:
        """See `Store.enqueue`. All batches are collected first: they may come slowly, and only once."""
        conditioned: list[list[NewJob]] = []
        with Spool(_parts(batches, now, skip, conditioned)) as spool:
            arrivals = arrivals_of(conditioned)
            for _ in range(_MOST_CLASHES):
                try:
                    return self._enqueue(spool, arrivals, now, skip=skip)
                except _KeyTaken:
                    continue  # by somebody who was faster: look again who has it
        raise StoreBusy("others keep taking the same ids or unique keys", "try again")

    enqueue_staged = enqueue

    def _enqueue(self, spool: Spool, arrivals: Arrivals | None, now: int, *, skip: bool) -> int:
        unsure: int | None = None  # what an earlier run has stored, if its commit arrived after all
        left_out: Collection[object] = arrivals.left_out if arrivals is not None else ()

        def body(earlier: int | None) -> int:
            nonlocal unsure
            unsure = earlier
            if earlier is not None and self._arrived(spool, left_out):
                return earlier
            if arrivals is not None:
                arrivals.make_room(self.connection, now, skip=skip)
            new = self._insert(spool, left_out, now)
            if arrivals is not None:
                arrivals.follow_up(self.connection, now)
            # Jobs that may exist are skipped, and so are those of the earlier run.
            return max(new, earlier or 0)

        try:
            return self.connection.write("enqueue", body)
        except Clash:
            if unsure is not None and self._arrived(spool, left_out):
                return unsure  # our own transaction was still on its way when we looked
            keyed = arrivals is not None and arrivals.has_keys
            if (skip or keyed) and not self._known_ids(spool):
                raise _KeyTaken from None
            raise self._first_duplicate(spool) from None

    def _insert(self, spool: Spool, left_out: Collection[object], now: int) -> int:
        new = 0
        for skip, part in spool:
            rows = [row for row in part if row[_ID] not in left_out] if left_out else part
            if rows:
                new += insert_jobs(self.connection, rows, now=now, skip=skip)
        return new

    def _arrived(self, spool: Spool, left_out: Collection[object]) -> bool:
        """Whether these very jobs are stored: all of them are if one is, they came in together.

        Asked of one that had to be new: what may be skipped says nothing, it can have been there before.
        """
        last: Sequence[object] = ()
        for skip, rows in spool:
            mine = [row for row in rows if row[_ID] not in left_out] if left_out else rows
            last = mine[-1] if mine and not skip else last
        return bool(last) and bool(
            self.connection.all(
                "SELECT 1 FROM jobs WHERE id = ? AND command = ? AND created_at = ?",
                (last[_ID], last[_COMMAND], last[_CREATED_AT]),
            )
        )

    def _known_ids(self, spool: Spool) -> bool:
        """Whether an id that had to be new exists."""
        return any(
            self.connection.all(f"SELECT 1 FROM jobs WHERE id IN ({marks(part)}) LIMIT 1", part)
            for skip, rows in spool
            if not skip
            for start in range(0, len(rows), MOST_IDS)
            if (part := [row[_ID] for row in rows[start : start + MOST_IDS]])
        )

    def _first_duplicate(self, spool: Spool) -> DuplicateId:
        seen: set[object] = set()
        for skip, rows in spool:
            for start in range(0, len(rows), MOST_IDS):
                ids = [row[_ID] for row in rows[start : start + MOST_IDS]]
                known = {
                    row[0]
                    for row in self.connection.all(f"SELECT id FROM jobs WHERE id IN ({marks(ids)})", ids)
                }
                for id in ids:
                    if not skip and (id in known or id in seen):
                        return duplicate(self.connection, str(id))
                    seen.add(id)
        return duplicate(self.connection, None)

    # --- leases -----------------------------------------------------------------------------------

    def lease_clock(self) -> int:
        """The server's own: the one clock that all machines can see."""
        return int(str(self.connection.all(self._driver.dialect.clock)[0][0]))

    def lease_ended(self, worker: Worker) -> bool:
        return worker.lease_until < worker.read_at

    # --- the connection ---------------------------------------------------------------------------

    def transfer(self) -> Transfer:
        from queuectl.store.transfer import Transfer

        self._refuse_half_known()
        return Transfer(self.connection)

    def _refuse_half_known(self) -> None:
        from queuectl.store.compatibility import refuse_half_known
        from queuectl.store.server_schema import LATEST, schema_version

        refuse_half_known(self.location.shown, schema_version(self.connection), LATEST)

    def compaction(self) -> ServerCompaction:
        from queuectl.store.compaction import ServerCompaction

        return ServerCompaction(self.connection)

    def be_patient(self, busy_ms: int, answer_ms: int | None = None) -> None:
        self.connection.be_patient(busy_ms, answer_ms)

    def relax_durability(self) -> None:
        """Do not wait for the disk at each commit, where a client may say so."""
        if hasattr(self._driver, "relaxed"):
            self._driver.relaxed = True
            self._driver.close()  # the next connection is made so

    def changed(self) -> int:
        """See `api.Store`. What each engine can tell cheaply is little; at worst we say: it may have."""
        self._asked += 1
        return self._asked


class PostgresStore(ServerStore):
    """With what only PostgreSQL has: it can tell others that something has changed."""

    def transfer(self) -> Transfer:
        from queuectl.store.transfer import PostgresTransfer

        self._refuse_half_known()
        return PostgresTransfer(self.connection)

    def changed(self) -> int:
        # Other programs' transactions change it too, but while it stays the same nobody has committed.
        return hash(self.connection.all("SELECT pg_current_snapshot()::text")[0][0])

    def notify(self, what: bytes) -> None:
        try:
            self._driver.notify(what)
        except self._driver.errors:
            self._driver.close()  # the poll finds what nobody was told of

    def hint_source(self) -> tuple[int, int] | None:
        try:
            source: tuple[int, int] | None = self._driver.listen()
        except self._driver.errors:
            self._driver.close()
            return None
        return source

    def hints(self) -> bytes:
        try:
            heard: bytes = self._driver.heard()
        except self._driver.errors:
            self._driver.close()  # the wire was cut; that is news as well
            return b"jc"
        return heard


def _parts(batches: Iterable[Batch], now: int, skip: bool, conditioned: list[list[NewJob]]) -> Iterator[Part]:
    for jobs in batches:
        conditioned.append(special(jobs))
        for optional, part in alike(jobs, skip=skip):
            rows, common = rows_of(part, now)
            yield optional, [(*row, *common) for row in rows]


def missing_extra(engine: str, extra: str) -> StoreError:
    return StoreError(f"{engine} needs a driver that is not installed", f"pip install 'queuectl[{extra}]'")

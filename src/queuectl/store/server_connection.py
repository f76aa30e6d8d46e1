"""One connection to a database server, kept up: what fails in passing is done again, whole.

A deadlock, a lock held too long, a restart, a cut wire: none of them is the caller's business while there is
patience left. What each engine calls these things is left to its driver.
"""

from __future__ import annotations

import os
import random
import time

from queuectl.errors import OutcomeUnknown, QueuectlError, StoreAway, StoreBusy, StoreError
from queuectl.events import emit
from queuectl.failpoints import failpoint
from queuectl.store.tallies import SHARDS, TALLIES, Tally

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Protocol

    from queuectl.store.connection import Followed, Row, T
    from queuectl.store.dialect import Dialect, Insert, Sum, Update

    class Driver(Protocol):
        """One engine's client library. Raises its own errors, which `translate` makes ours."""

        dialect: Dialect
        errors: tuple[type[Exception], ...]
        connected: bool
        lock_ms: int  # how long to wait for a row that somebody else holds
        answer_ms: int | None  # how long to wait for any answer; None: as long as the peer is alive
        hosts: list[str]  # names that have to be looked up for a connection

        def connect(self) -> None: ...

        def adapt(self) -> None:
            """Have the open connection go by `lock_ms` and `answer_ms` as they are now."""
            ...

        def close(self) -> None: ...

        def begin(self) -> None: ...

        def freeze(self) -> None:
            """Begin a transaction that only reads, and sees everything as it is now."""
            ...

        def commit(self, what: Sum, rows: Sequence[Sequence[object]]) -> None:
            """After a last `sum` of these rows, if there are any."""
            ...

        def rollback(self) -> None: ...

        def fetch(self, sql: str, values: Sequence[object]) -> list[Row]: ...

        def execute(self, sql: str, values: Sequence[object]) -> int: ...

        def script(self, sql: str) -> None: ...

        def insert(self, what: Insert, rows: Iterable[Sequence[object]], *, skip: bool) -> int: ...

        def update(self, what: Update, rows: Sequence[Sequence[object]]) -> int: ...

        def sum(self, what: Sum, rows: Sequence[Sequence[object]]) -> None: ...

        def translate(self, error: Exception, shown: str) -> QueuectlError: ...


_MOST_CONFLICTS = 10
_MOST_CROWDED = 3
_FIRST_CONTACT = 3.0  # seconds that a server which refuses us at the very start may take to come up
_AT_ONCE = 0.5  # seconds within which a connection fails that was broken before we used it
_SHORTEST_LOCK_MS = 1_000
# In the middle of a transaction. Who is silent for longer was cut off, though the server does not know it
# yet: it shall not keep the rows of a dead client from everybody.
LONGEST_PAUSE_MS = 15_000


class Conflict(StoreBusy):
    """The server ended our transaction in favour of another one; it goes through when done again."""

    code = "conflict"


class Crowded(StoreBusy):
    """Somebody who hangs in the middle of a transaction keeps the counts that ours would have added to.

    They are the last thing before the commit, so nothing was stored.
    """


class ServerConnection:
    """Execute, and write in transactions that are done again while that can help."""

    def __init__(self, driver: Driver, shown: str, *, busy_ms: int) -> None:
        self.driver = driver
        self.dialect = driver.dialect
        self.shown = shown
        self.tally = Tally(random.randrange(SHARDS))
        self.settings: Followed | None = None
        self._pid = os.getpid()
        self._inside = False
        self.be_patient(busy_ms)
        self._insist(lambda: None, within=min(self._busy, _FIRST_CONTACT))

    def be_patient(self, busy_ms: int, answer_ms: int | None = None) -> None:
        """How long to try again, and how long to wait for any answer, from now on."""
        self._busy = busy_ms / 1000
        lock_ms = max(busy_ms, _SHORTEST_LOCK_MS)
        if answer_ms is not None:
            lock_ms = min(lock_ms, answer_ms * 3 // 4)  # or waiting for a row looks like a dead server
        if (lock_ms, answer_ms) != (getattr(self.driver, "lock_ms", None), self.driver.answer_ms):
            self.driver.lock_ms, self.driver.answer_ms = lock_ms, answer_ms
            self._adapt()

    def _adapt(self) -> None:
        if not self.driver.connected:
            return
        try:
            # Not by another connection: where they are few, somebody else would get this one.
            self.driver.adapt()
        except self.driver.errors:
            self.driver.close()  # the next one is made with these values

    # --- statements -------------------------------------------------------------------------------

    def all(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        """All rows of a query."""

        def fetch() -> list[Row]:
            return self._translated(lambda: self.driver.fetch(sql, values))

        return fetch() if self._inside else self._insist(fetch)

    def one(self, sql: str, values: Sequence[object] = ()) -> Row | None:
        rows = self.all(sql, values)
        return rows[0] if rows else None

    def run(self, sql: str, values: Sequence[object] = ()) -> int:
        """Execute a statement of a transaction; how many rows it found to change."""
        return self._translated(lambda: self.driver.execute(sql, values))

    def script(self, sql: str) -> None:
        """Statements that define tables, as they stand."""
        self._translated(lambda: self.driver.script(sql))

    def insert(
        self,
        what: Insert,
        rows: Sequence[Sequence[object]],
        *,
        common: Sequence[object] = (),
        skip: bool = False,
    ) -> int:
        """See `Connection`."""
        whole = [(*row, *common) for row in rows] if common else rows
        return self._translated(lambda: self.driver.insert(what, whole, skip=skip))

    def update(self, what: Update, rows: Sequence[Sequence[object]]) -> int:
        """Change many rows; how many were as expected and have been changed."""
        return self._translated(lambda: self.driver.update(what, rows))

    def sum(self, what: Sum, rows: Sequence[Sequence[object]]) -> None:
        """Add amounts to the rows with these keys, which are made where they are missing."""
        self._translated(lambda: self.driver.sum(what, rows))

    # --- transactions -----------------------------------------------------------------------------

    def write(self, point: str, body: Callable[[T | None], T]) -> T:
        """Run `body` in a transaction, again if need be; see `Connection.write`."""
        earlier: T | None = None

        def once() -> T:
            nonlocal earlier
            self._translated(self.driver.begin)
            self._inside = True
            try:
                self.tally.clear()
                result = body(earlier)
                failpoint(point + ".before_commit")
                try:
                    self._commit()
                except (Conflict, Crowded):
                    raise
                except (StoreAway, StoreBusy):
                    earlier = result  # nobody knows: the commit may have arrived, its answer has not
                    raise
            except Exception:
                self._undo()
                raise
            finally:
                self._inside = False
            return result

        try:
            result = self._insist(once)
        except (StoreAway, StoreBusy) as error:
            if earlier is None:
                raise
            raise OutcomeUnknown(
                f"the server was lost at the very end: whether it was stored is not known ({error.message})",
                "look with queuectl list, or do the same again with the same --id and --if-exists skip",
            ) from error
        failpoint(point + ".committed")
        return result

    def _commit(self) -> None:
        counts = self.tally.take()
        try:
            self._translated(lambda: self.driver.commit(TALLIES, counts))
        except (Conflict, StoreAway):
            raise
        except StoreBusy as error:
            if not counts:
                raise
            self.tally.move()
            raise Crowded(error.message, error.hint) from error

    def freeze(self) -> None:
        """From now on, until `rollback`, all that is read is of this moment. To lose the server is fatal."""
        self._insist(lambda: self._translated(self.driver.freeze))
        self._inside = True

    def rollback(self) -> None:
        self._inside = False
        self._undo()

    def _undo(self) -> None:
        try:
            self.driver.rollback()
        except self.driver.errors:
            self.driver.close()  # then the server does it

    def close(self) -> None:
        self.driver.close()

    # --- trying again -----------------------------------------------------------------------------

    def _insist(self, action: Callable[[], T], *, within: float | None = None) -> T:
        began = time.monotonic()
        deadline = began + (self._busy if within is None else within)
        failures = 0
        while True:
            self._check_process()
            try:
                self._connect()
                # Translates by itself: an error of a transaction's own body is not the server's.
                return action()
            except (StoreBusy, StoreAway) as error:
                failures += 1
                if isinstance(error, StoreAway):
                    self.driver.close()
                quickly = time.monotonic() - began < _AT_ONCE
                if not self._worth_another_try(error, failures, deadline, quickly=quickly):
                    raise
                emit("store.retried", reason=error.code, error=error.message)
            except Exception:
                raise
            except BaseException:
                # Ctrl+C: an answer may be on its way, and whoever asks next would take it for his.
                self.driver.close()
                raise

    def _connect(self) -> None:
        if self.driver.connected:
            return
        limit = self.driver.answer_ms
        if limit is not None and not _look_up(self.driver.hosts, limit / 1000):
            raise StoreAway(
                f"cannot reach {self.shown}: no name server answers", "see whether the network is up"
            )
        try:
            self._translated(self.driver.connect)
        except BaseException:
            self.driver.close()  # half of a connection lacks its settings
            raise

    def _worth_another_try(self, error: StoreError, failures: int, deadline: float, *, quickly: bool) -> bool:
        if isinstance(error, Conflict):
            if failures >= _MOST_CONFLICTS:
                return False
            time.sleep(random.uniform(0, 0.005 * failures))
            return True
        if isinstance(error, Crowded) and failures <= _MOST_CROWDED:
            return True  # with other counts, which nobody else keeps
        if isinstance(error, StoreAway) and failures == 1 and quickly:
            return True  # most likely the server was restarted since we last spoke to it
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        time.sleep(min(left, random.uniform(0.5, 1) * min(0.025 * 2**failures, 1.0)))
        return True

    def _translated(self, action: Callable[[], T]) -> T:
        try:
            return action()
        except self.driver.errors as error:
            raise self.driver.translate(error, self.shown) from error

    def _check_process(self) -> None:
        if self._pid != os.getpid():
            raise StoreError("a database connection cannot be used after a fork", "open a new one")


def _look_up(hosts: Sequence[str], seconds: float) -> bool:
    """Whether there is an answer within the time, be it that there is no such name.

    A machine that is cut off waits for its name servers for half a minute, and only a thread can be left to
    that. The driver asks again then, and gets the same answer at once.
    """
    from socket import getaddrinfo
    from threading import Event, Thread

    answered = Event()

    def ask() -> None:
        for host in hosts:
            try:
                getaddrinfo(host, None)
            except OSError:
                pass  # the driver will say it better
        answered.set()

    Thread(target=ask, name="name server", daemon=True).start()
    return answered.wait(seconds)

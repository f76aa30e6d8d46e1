"""What a store must do: small protocols, one per kind of caller, and engines behind them.

Everything is set-based, and `now` is always a parameter (epoch milliseconds).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from queuectl.core.batches import Batch
    from queuectl.core.job import Attempt, Job
    from queuectl.core.lifecycle import Report
    from queuectl.core.tables import Row, Table
    from queuectl.paths import Location
    from queuectl.store.backlog import Backlog
    from queuectl.store.bookkeeping import Bookkeeping
    from queuectl.store.causes import Causes
    from queuectl.store.compaction import Sizes
    from queuectl.store.connection import Followed
    from queuectl.store.deaths import Death
    from queuectl.store.editing import Editing
    from queuectl.store.figures import Figures
    from queuectl.store.health import Finding, Trapped, Waiting
    from queuectl.store.history import History
    from queuectl.store.links import Links
    from queuectl.store.messages import Ask, Exchange, JobFilter, Orders, Stats, Worker
    from queuectl.store.notices import Notices
    from queuectl.store.queues import Queues
    from queuectl.store.retention import Outputs
    from queuectl.store.runtimes import Runtimes
    from queuectl.store.schedules import Schedules
    from queuectl.store.surroundings import Surroundings


class JobStore(Protocol):
    """Jobs: bring in, hand out, take back, change, delete."""

    def enqueue(self, batches: Iterable[Batch], now: int, *, skip: bool = False) -> int: ...

    def enqueue_staged(self, batches: Iterable[Batch], now: int, *, skip: bool = False) -> int: ...

    def exchange(
        self, worker_id: str, host: str, reports: Sequence[Report], ask: Ask | None, now: int
    ) -> Exchange: ...

    def finish(self, reports: Sequence[Report], worker_id: str, host: str, now: int) -> list[Report]: ...

    def follow(self, settings: Followed) -> None:
        """Go by these settings from now on."""
        ...

    def settle(self, now: int) -> None:
        """Tell everybody who waits for jobs that have ended."""
        ...

    def has_queue_rules(self) -> bool: ...

    def has_work(self, now: int) -> bool: ...

    def next_due(self) -> int | None: ...

    def cancel(self, filter: JobFilter, now: int) -> tuple[int, int]: ...

    def retry(self, filter: JobFilter, now: int, *, sources: tuple[str, ...]) -> int: ...

    def remove(self, filter: JobFilter, *, sources: tuple[str, ...], limit: int) -> tuple[int, list[str]]: ...

    def purge(
        self, state: str, before: int | None, *, limit: int, keep: int = 0
    ) -> tuple[int, list[str]]: ...


class ReadStore(Protocol):
    """Jobs: look at them."""

    def get(self, id: str) -> Job | None: ...

    def page(
        self,
        filter: JobFilter,
        *,
        limit: int,
        after: int | None = None,
        offset: int = 0,
        sort: str = "created",
        descending: bool = False,
    ) -> list[Job]: ...

    def by_numbers(self, seqs: Sequence[int]) -> list[Job]: ...

    def count(self, filter: JobFilter) -> int: ...

    def causes(self, queue: str | None = None) -> list[Causes]: ...

    def deaths(self, queue: str | None = None, *, page: int = 2_000) -> Iterator[Death]: ...

    def ids_from(self, prefix: str, *, limit: int) -> list[str]: ...

    def unfinished(self, filter: JobFilter) -> int: ...

    def ended_before(self, state: str, before: int, *, keep: int = 0) -> int: ...

    def attempts(self, seq: int) -> Sequence[Attempt]: ...

    def stats(self, now: int, *, window_ms: int, queue: str | None = None) -> Stats: ...


class WorkerStore(Protocol):
    """Workers: leases, orders, death."""

    def lease_clock(self) -> int: ...

    def lease_ended(self, worker: Worker) -> bool: ...

    def presence(self, worker: Worker) -> str: ...

    def register(self, worker: Worker, lease_ms: int) -> None: ...

    def heartbeat(
        self, worker_id: str, lease_ms: int, running: int, now: int, memory_kb: int | None = None
    ) -> Orders: ...

    def orders(self, worker_id: str) -> Orders: ...

    def workers(self) -> Sequence[Worker]: ...

    def suspects(self, by: str) -> Sequence[Worker]: ...

    def control(self, worker_ids: Sequence[str], request: str) -> None: ...

    def bury(self, worker: Worker) -> bool: ...

    def claimed_by(self, worker_id: str) -> Sequence[Job]: ...

    def claims_of(self, worker_ids: Sequence[str], *, at_once: int = 500) -> dict[str, int]: ...

    def forget(self, worker_id: str) -> None: ...


class ConfigStore(Protocol):
    """Settings that all workers of a store share."""

    def stored_config(self) -> dict[str, str]: ...

    def put_config(self, key: str, value: str | None, now: int) -> None: ...


class TransferStore(Protocol):
    """Whole tables, as a copy or an export needs them: see `store.transfer`."""

    def count(self, table: Table) -> int: ...

    def last_key(self, table: Table) -> Row | None: ...

    def chunks(self, table: Table, *, after: Row | None = None) -> Iterator[list[Row]]: ...

    def put(self, table: Table, rows: Sequence[Row]) -> None: ...

    def put_all(
        self,
        parts: Callable[[], Iterable[tuple[Table, Sequence[Row]]]],
        *,
        before: Callable[[], None],
        arrived: Callable[[], bool],
        after: Callable[[], None],
    ) -> None: ...

    def frozen(self) -> AbstractContextManager[None]: ...

    def wipe(self) -> dict[str, int]: ...

    def clear(self) -> None: ...

    def number_on(self) -> None: ...


class Compaction(Protocol):
    """How much room it takes, and giving back what is free."""

    @property
    def by_itself(self) -> bool:
        """Whether the engine does it too, in time."""
        ...

    def sizes(self) -> Sizes: ...

    def compact(self, longest: float | None) -> None: ...


class Store(JobStore, ReadStore, WorkerStore, ConfigStore, Protocol):
    """All of it, over one connection."""

    location: Location

    def transfer(self) -> TransferStore:
        """Over the same connection. Apart from the store, because `enqueue` should not load it."""
        ...

    def compaction(self) -> Compaction: ...

    def backlog(self) -> Backlog: ...

    def bookkeeping(self) -> Bookkeeping: ...

    def history(self) -> History: ...

    def figures(self) -> Figures: ...

    def queues(self) -> Queues: ...

    def outputs(self) -> Outputs: ...

    def runtimes(self) -> Runtimes: ...

    def schedules(self) -> Schedules: ...

    def links(self) -> Links: ...

    def editing(self) -> Editing: ...

    def notices(self) -> Notices: ...

    def surroundings(self) -> Surroundings: ...

    def be_patient(self, busy_ms: int, answer_ms: int | None = None) -> None:
        """How long to wait for others, and for any answer, from now on."""
        ...

    def relax_durability(self) -> None: ...

    def changed(self) -> int:
        """A number: while it stays the same, nobody else has written. It may change without a reason."""
        ...

    def check_identity(self) -> None: ...

    def notify(self, what: bytes) -> None:
        """Tell the workers of all machines; a hint that may be lost."""
        ...

    def hint_source(self) -> tuple[int, int] | None:
        """A descriptor that is readable when such hints may have come in, and a number that is another one
        whenever the descriptor is: after a reconnect it may look the same. None: there is none now.
        """
        ...

    def hints(self) -> bytes:
        """The hints since the last call."""
        ...

    def close(self) -> None: ...


class HealthStore(Store, Protocol):
    """A store that was opened only to be looked at; see `open.look_at`."""

    def examine(self, *, now: Callable[[], int], full: bool = False) -> list[Finding]:
        """How the engine and the tables are. `now` is the wall clock, to compare the server's with it."""
        ...

    def waiting(self) -> list[Waiting]:
        """The due jobs of each queue."""
        ...

    def trapped(self) -> Trapped:
        """Blocked jobs that nobody will set free."""
        ...

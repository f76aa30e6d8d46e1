"""What the store's SQL runs on: one connection, of any engine.

A connection belongs to one process and one thread; it refuses to work after a fork.
"""

from __future__ import annotations

from queuectl.errors import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Protocol, TypeVar

    from queuectl.store.dialect import Dialect, Insert, Sum, Update
    from queuectl.store.tallies import Tally

    Row = tuple[object, ...]
    T = TypeVar("T")

    class Followed(Protocol):
        """The settings that the store itself goes by."""

        notify: str | None
        notify_on: tuple[str, ...]
        max_retries: int

    class Connection(Protocol):
        """Reads and writes; errors come as ours, never as the driver's."""

        dialect: Dialect
        shown: str  # where it leads, fit for a message: no password in it
        tally: Tally  # of the transaction that is going on
        settings: Followed | None  # None: nobody has said, and nothing is set

        def all(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
            """All rows of a query."""
            ...

        def one(self, sql: str, values: Sequence[object] = ()) -> Row | None: ...

        def run(self, sql: str, values: Sequence[object] = ()) -> int:
            """Execute a statement; how many rows it found to change."""
            ...

        def insert(
            self,
            what: Insert,
            rows: Sequence[Sequence[object]],
            *,
            common: Sequence[object] = (),
            skip: bool = False,
        ) -> int:
            """Insert all rows, which end with what they have in common; returns how many are new.

            `skip` leaves out those whose key exists.
            """
            ...

        def update(self, what: Update, rows: Sequence[Sequence[object]]) -> int:
            """Change many rows; how many were as expected and have been changed."""
            ...

        def sum(self, what: Sum, rows: Sequence[Sequence[object]]) -> None:
            """Add amounts to the rows with these keys, which are made where they are missing."""
            ...

        def write(self, point: str, body: Callable[[T | None], T]) -> T:
            """Run `body` in a transaction and commit it. `point` names its failpoints.

            A server may refuse it (a deadlock) or be lost on the way: then `body` runs again from its
            beginning. It gets what an earlier run returned if that was lost at its commit, so that it may
            have taken effect: `body` must find out, or not mind.
            """
            ...

        def freeze(self) -> None:
            """From now on, until `rollback`, everything that is read is of this moment."""
            ...

        def rollback(self) -> None: ...

        def close(self) -> None: ...


class Clash(StoreError):
    """A row's key exists already; `done` rows of the same call went in before it, where that is known."""

    done = 0

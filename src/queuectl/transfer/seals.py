"""Counts and checksums of the tables of a store, and how two of them differ, in words."""

from __future__ import annotations

from queuectl.core.tables import TABLES, Sealer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from queuectl.core.tables import Row, Seal, Table
    from queuectl.store.api import Store

    Seals = dict[str, Seal]


def seal_all(store: Store, seen: Callable[[int], None] = lambda _: None) -> Seals:
    """Of every table; `seen` is told how many rows came by."""
    return {table.name: seal_of(store, table, seen=seen) for table in TABLES}


def seal_of(
    store: Store, table: Table, *, until: Row | None = None, seen: Callable[[int], None] = lambda _: None
) -> Seal:
    """Of one table, or of its beginning up to a key."""
    sealer = Sealer(table)
    for rows in _up_to(store.transfer().chunks(table), table, until):
        sealer.add(rows)
        seen(len(rows))
    return sealer.seal


def _up_to(chunks: Iterator[list[Row]], table: Table, until: Row | None) -> Iterator[list[Row]]:
    for rows in chunks:
        if until is not None and table.key_of(rows[-1]) > until:
            yield [row for row in rows if table.key_of(row) <= until]
            return
        yield rows


def difference(one: Seals, other: Seals, *, here: str, there: str) -> str | None:
    """The first table in which they differ, as a sentence; None if they are the same."""
    for table in TABLES:
        ours, theirs = one[table.name], other[table.name]
        if ours.rows != theirs.rows:
            return f"there are {ours.rows:,} {table.nouns} {here}, but {theirs.rows:,} {there}"
        if ours != theirs:
            return f"the {table.nouns} {here} and {there} are not the same"
    return None

"""After each test, on every engine: the counts that the store keeps are those of its rows."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from queuectl.errors import QueuectlError
from queuectl.store.open import open_store
from queuectl.store.tallies import totals, wrong

if TYPE_CHECKING:
    from queuectl.paths import Location
    from queuectl.store.api import Store


def check_counts(location: Location) -> None:
    """Nothing is said of a place where there is no store, or none that can be opened any more."""
    if location.engine == "sqlite" and not os.path.exists(location.file):
        return
    try:
        store = open_store(location, create=False)
    except QueuectlError:
        return
    try:
        check_counts_of(store)
    finally:
        store.close()


def check_counts_of(store: Store) -> None:
    db = store.connection
    assert list(wrong(db)) == [], "counts of jobs that are not those of the rows"
    assert all(jobs > 0 for counts in totals(db).values() for jobs in counts.values()), "a count below zero"

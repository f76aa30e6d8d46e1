"""Room that deleted jobs have left is given back, and nothing else changes."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.jobs import EVERYTHING, NOW, add, ids, snapshot

from queuectl.core import states
from queuectl.errors import StoreBusy
from queuectl.store.messages import JobFilter


def test_compacting_changes_nothing_but_the_room(store: Any) -> None:
    add(store, *(f"big{number}" for number in range(300)), command="x" * 20_000)
    add(store, "stays")
    assert store.compaction().sizes().total > 100_000
    store.remove(JobFilter(text="big"), sources=states.REMOVABLE, limit=1_000)
    before = snapshot(store)
    store.compaction().compact(None)
    sizes = store.compaction().sizes()
    assert 0 <= sizes.free <= sizes.total
    assert ids(store.page(EVERYTHING, limit=10)) == ["stays"]
    assert snapshot(store) == before
    add(store, "more", now=NOW + 1)


def test_which_jobs_exist(store: Any) -> None:
    add(store, "a", "b")
    one, other = (job.seq for job in store.page(EVERYTHING, limit=2))
    assert store.outputs().present([other, one, other + 1, one]) == {one, other}


def test_a_file_that_takes_too_long_is_left_as_it_was(tmp_path: Any) -> None:
    from queuectl.paths import locate
    from queuectl.store.open import open_store

    store = open_store(locate(str(tmp_path / "q.db")))
    add(store, *(f"big{number}" for number in range(2_000)), command="x" * 2_000)
    store.remove(
        JobFilter(ids=tuple(f"big{number}" for number in range(1_000))), sources=states.REMOVABLE, limit=1_000
    )
    before = store.compaction().sizes()
    with pytest.raises(StoreBusy, match="too large to be written anew"):
        store.compaction().compact(0.0)
    assert store.compaction().sizes() == before
    assert store.count(EVERYTHING) == 1_000
    store.compaction().compact(60.0)
    after = store.compaction().sizes()
    assert (after.log, after.free) == (0, 0)
    assert after.total < before.total
    store.close()

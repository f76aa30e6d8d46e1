"""A look at a whole store as of one moment, while others write; and emptying it within a transaction."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.jobs import EVERYTHING, add, ids, job_in, register

from queuectl.core import states
from queuectl.core.tables import ATTEMPTS, JOBS
from queuectl.errors import Refused


def test_what_is_read_is_of_one_moment(engine: Any) -> None:
    reader, writer = engine.open(), engine.open()
    register(writer)
    add(writer, "a")
    with reader.transfer().frozen():
        assert reader.transfer().count(JOBS) == 1
        add(writer, "b")
        job_in(writer, states.COMPLETED, "c")
        rows = [row for chunk in reader.transfer().chunks(JOBS) for row in chunk]
        assert [row[JOBS.names.index("id")] for row in rows] == ["a"]
        assert reader.transfer().count(ATTEMPTS) == 0
    assert reader.transfer().count(JOBS) == 3
    add(reader, "d")  # and it can write again
    assert ids(writer.page(EVERYTHING, limit=10)) == ["a", "b", "c", "d"]


def test_an_error_meanwhile_ends_it_too(store: Any) -> None:
    with pytest.raises(Refused), store.transfer().frozen():
        raise Refused("no", "never mind")
    add(store, "a")


def test_emptied_and_filled_in_one_transaction(engine: Any) -> None:
    store, other = engine.open(), engine.open()
    register(store)
    add(store, "a")
    job_in(store, states.COMPLETED, "b")
    kept = [row for chunk in store.transfer().chunks(JOBS) for row in chunk][:1]
    gone: list[dict[str, int]] = []

    def refuse() -> None:
        gone.append(store.transfer().wipe())
        raise Refused("no", "never mind")

    def wipe() -> None:
        gone.append(store.transfer().wipe())

    def put(before: Any) -> None:
        store.transfer().put_all(
            lambda: [(JOBS, kept)], before=before, arrived=lambda: False, after=lambda: None
        )

    with pytest.raises(Refused):
        put(refuse)
    assert ids(other.page(EVERYTHING, limit=10)) == ["a", "b"]
    put(wipe)
    assert (gone[1]["jobs"], gone[1]["attempts"]) == (2, 1)
    assert ids(other.page(EVERYTHING, limit=10)) == ["a"]
    assert other.workers() == []
    add(store, "next")

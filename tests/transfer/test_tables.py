"""Nothing of the schema is forgotten, and a row has one form on every engine."""

from __future__ import annotations

import json

import pytest
from tests.support.engines import engines
from tests.support.jobs import NOW, short
from tests.transfer.places import ENGINES, Places, insert, opened
from tests.transfer.rows import AWKWARD, DEPENDENCIES, QUEUES, SCHEDULES, attempt, fill_awkwardly, job

from queuectl.core.tables import ATTEMPTS, CONFIG, JOBS, TABLES, Sealer, Table
from queuectl.errors import InvalidInput
from queuectl.transfer.seals import seal_all

# Processes do not travel, versions and what was counted belong to their place.
STAY = {"workers", "tallies", "history", "runtimes", "compatibility", "queuectl_schema"}

COLUMNS = {
    "sqlite": "SELECT t.name, c.name FROM sqlite_schema AS t, pragma_table_info(t.name) AS c "
    "WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%'",
    "postgres": "SELECT table_name, column_name FROM information_schema.columns "
    "WHERE table_schema = current_schema()",
    "mysql": "SELECT table_name, column_name FROM information_schema.columns "
    "WHERE table_schema = database() AND extra NOT LIKE '%GENERATED%'",
}


@pytest.mark.parametrize("engine", engines(long=["mysql"]))
def test_every_table_and_column_travels(engine: str, place: Places) -> None:
    with opened(place(engine)) as store:
        found = {(t, c) for t, c in store.connection.all(COLUMNS[engine]) if t not in STAY}
    assert found == {(table.name, column) for table in TABLES for column in table.names}


def test_checksums_do_not_depend_on_the_engine(place: Places) -> None:
    seals = []
    for engine in ENGINES:
        fill_awkwardly(url := place(engine))
        with opened(url) as store:
            seals.append(seal_all(store))
    assert seals[0] == seals[1] == seals[2]
    assert seals[0]["jobs"].rows == len(AWKWARD)
    assert all(seal.rows > 1 for seal in seals[0].values())


@pytest.mark.parametrize("engine", engines(long=["mysql"]))
@pytest.mark.parametrize("chunk", [1, 2, 7])
def test_chunks_are_in_the_order_of_keys_and_leave_nothing_out(
    engine: str, chunk: int, place: Places
) -> None:
    small = {"first": chunk, "most": chunk}
    fill_awkwardly(url := place(engine))
    with opened(url) as store:
        for table in TABLES:
            rows = [row for rows in store.transfer().chunks(table, **small) for row in rows]
            keys = [table.key_of(row) for row in rows]
            assert keys == sorted(keys)
            assert len(set(keys)) == len(keys) == store.transfer().count(table)
            assert store.transfer().last_key(table) == keys[-1]
            middle = keys[len(keys) // 2]
            behind = [row for rows in store.transfer().chunks(table, after=middle, **small) for row in rows]
            assert behind == rows[len(keys) // 2 + 1 :]


def test_large_rows_come_in_small_chunks(place: Places) -> None:
    url = place("sqlite")
    insert(url, "jobs", *(job(seq, command="x" * 100_000) for seq in range(1, 301)))
    with opened(url) as store:
        sizes = [len(rows) for rows in store.transfer().chunks(JOBS)]
    assert sum(sizes) == 300
    assert max(sizes[1:]) <= 40


def values(table: Table, fields: dict[str, object]) -> tuple[object, ...]:
    return tuple(fields[name] for name in table.names)


def test_what_is_encoded_is_decoded() -> None:
    for place, fields in enumerate(AWKWARD):
        row = values(JOBS, job(place + 1, **fields))
        text = JOBS.encode(row)
        assert text.isascii()
        assert "\n" not in text
        assert JOBS.decode(json.loads(text)) == row
    row = values(ATTEMPTS, attempt(1, output=bytes(range(256))))
    assert ATTEMPTS.decode(json.loads(ATTEMPTS.encode(row))) == row
    for table, rows in (("queues", QUEUES), ("schedules", SCHEDULES), ("dependencies", DEPENDENCIES)):
        known = next(known for known in TABLES if known.name == table)
        for fields in rows:
            row = values(known, fields)
            assert known.decode(json.loads(known.encode(row))) == row


def test_null_and_empty_are_not_the_same() -> None:
    texts = {
        ATTEMPTS.encode(values(ATTEMPTS, attempt(1, output=output, error=error)))
        for output in (None, b"")
        for error in (None, "")
    }
    assert len(texts) == 4


def test_a_new_column_without_a_value_changes_no_checksum() -> None:
    later = Table(
        "config",
        "setting",
        {"key": "str", "new": "str | None", "value": "str", "updated_at": "int"},
        key=("key",),
    )
    now, then = Sealer(CONFIG), Sealer(later)
    now.add([("a", "b", NOW)])
    then.add([("a", None, "b", NOW)])
    assert now.seal == then.seal


def test_a_key_of_three_columns_pages_too(place: Places) -> None:
    """For tables to come."""
    table = Table(
        "attempts", "x", {"claim": "str", "job_seq": "int", "run": "int"}, key=("claim", "job_seq", "run")
    )
    url = place("mysql")
    keys = [(claim, seq, run) for claim in "abc" for seq in (1, 2) for run in range(1, 40)]
    insert(
        url,
        "attempts",
        *(attempt(seq + 10 * "abc".index(claim), run, claim=claim) for claim, seq, run in keys),
    )
    with opened(url) as store:
        rows = [row for rows in store.transfer().chunks(table) for row in rows]
    assert rows == sorted((claim, seq + 10 * "abc".index(claim), run) for claim, seq, run in keys)


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, True, 1.0, "1", None, [], 10**5000], ids=short)
def test_what_is_no_whole_number(value: object) -> None:
    with pytest.raises(InvalidInput, match=r"updated_at (must be a whole number, not|is too large)"):
        CONFIG.decode({"key": "a", "value": "b", "updated_at": value})

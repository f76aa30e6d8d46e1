"""What a schema looks like, in words that all engines share. Asked of the catalogue, not of our scripts."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.migration.places import ask as ask_file
from tests.support.servers.urls import engine_of, split_database, split_schema
from tests.support.sql import ask

KINDS = {
    "integer": ("integer", "bigint", "int"),
    "real": ("real", "double precision", "double"),
    "text": ("text", "varchar", "mediumtext"),
    "bytes": ("blob", "bytea", "longblob"),
}
BYTEWISE = {"C", "utf8mb4_bin"}


@dataclass(frozen=True)
class Column:
    name: str
    kind: str
    nullable: bool


@dataclass(frozen=True)
class Index:
    """A column that runs backwards has a minus before its name. `only`: a condition on the rows in it."""

    columns: tuple[str, ...]
    unique: bool
    only: str = ""

    @property
    def values(self) -> set[str]:
        """What its condition compares with, however the engine writes that."""
        return set(re.findall(r"(?<=')\w+(?=')|IS NOT NULL", self.only))

    def serves(self, other: Index) -> bool:
        """Whether what is looked up by the other one can be looked up by this one, in the same order."""
        ours, theirs, equal = self.lookup, other.lookup, other.equalities
        narrower = bool(self.only) and self.values != other.values
        return (
            not narrower
            and {*ours[:equal]} == {*theirs[:equal]}
            and ours[equal : len(theirs)] == theirs[equal:]
        )

    @property
    def lookup(self) -> tuple[str, ...]:
        """The columns that it looks up, with those that its condition fixes in front."""
        fixed = re.findall(r"(\w+) (?:= |IS NULL)", self.only)
        return (*(column for column in fixed if column not in self.columns), *self.columns)

    @property
    def equalities(self) -> int:
        """How many columns at the beginning are compared with one value each: their order does not matter."""
        return 1 + len(self.lookup) - len(self.columns)


@dataclass
class Table:
    columns: list[Column] = field(default_factory=list)
    indexes: list[Index] = field(default_factory=list)
    generated: dict[str, str] = field(default_factory=dict)
    defaults: dict[str, str] = field(default_factory=dict)
    widths: dict[str, str] = field(default_factory=dict)  # of integers
    collations: dict[str, str] = field(default_factory=dict)

    @property
    def keys(self) -> set[tuple[str, ...]]:
        return {index.columns for index in self.indexes if index.unique}


Shape = dict[str, Table]


def shape_of_file(file: Path) -> Shape:
    names = ask_file(file, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    return {str(name): _table_of_file(file, str(name)) for (name,) in names}


def _table_of_file(file: Path, name: str) -> Table:
    table = Table()
    key = []
    for _, column, type, not_null, default, place_in_key in ask_file(file, f"PRAGMA table_info({name})"):
        table.columns.append(Column(str(column), _kind(str(type)), not (not_null or place_in_key)))
        key += [str(column)] if place_in_key else []
        if default is not None:
            table.defaults[str(column)] = str(default)
    for _, index, unique, *_ in ask_file(file, f"PRAGMA index_list({name})"):
        table.indexes.append(_index_of_file(file, str(index), bool(unique)))
    if tuple(key) not in table.keys:  # the number of a row is its key without an index
        table.indexes.append(Index(tuple(key), True))
    return table


def _index_of_file(file: Path, name: str, unique: bool) -> Index:
    rows = ask_file(file, f"PRAGMA index_xinfo({name})")
    columns = tuple(f"-{row[2]}" if row[3] else str(row[2]) for row in rows if row[5])
    sql = "".join(
        str(row[0]) for row in ask_file(file, f"SELECT sql FROM sqlite_master WHERE name = '{name}'")
    )
    return Index(columns, unique, sql.partition(" WHERE ")[2])


def shape_of_server(url: str) -> Shape:
    return _shape_of_postgres(url) if engine_of(url) == "postgres" else _shape_of_mysql(url)


_COLUMNS = """
SELECT table_name, column_name, data_type, is_nullable, column_default, generation_expression, collation_name
FROM information_schema.columns WHERE table_schema = '{}' ORDER BY table_name, ordinal_position
"""
_PG_INDEXES = """
SELECT tables.relname, indexes.indisunique, coalesce(pg_get_expr(indexes.indpred, indexes.indrelid), ''),
       (SELECT array_agg(CASE WHEN (indexes.indoption[n - 1] & 1) = 1 THEN '-' ELSE '' END
                         || pg_get_indexdef(indexes.indexrelid, n, true) ORDER BY n)
        FROM generate_series(1, indexes.indnkeyatts) AS n)
FROM pg_index AS indexes JOIN pg_class AS tables ON tables.oid = indexes.indrelid
WHERE tables.relnamespace = to_regnamespace('{}') ORDER BY indexes.indexrelid::regclass::text
"""
_MYSQL_INDEXES = """
SELECT table_name, min(non_unique) = 0, '', group_concat(column_name ORDER BY seq_in_index)
FROM information_schema.statistics WHERE table_schema = '{}' GROUP BY table_name, index_name
ORDER BY table_name, index_name
"""


def _shape_of_postgres(url: str) -> Shape:
    _, schema = split_schema(url)
    indexes = ask(url, _PG_INDEXES.format(schema))
    return _shape(ask(url, _COLUMNS.format(schema)), indexes)


def _shape_of_mysql(url: str) -> Shape:
    _, database = split_database(url)
    indexes = [(*row, columns.split(",")) for *row, columns in ask(url, _MYSQL_INDEXES.format(database))]
    return _shape(ask(url, _COLUMNS.format(database)), indexes)


def _shape(columns: Iterable[tuple[Any, ...]], indexes: Iterable[tuple[Any, ...]]) -> Shape:
    shape: Shape = defaultdict(Table)
    for name, column, type, nullable, default, generated, collation in columns:
        table = shape[name]
        if generated:
            table.generated[column] = re.sub(r"[`()]", "", generated)
            continue
        kind = _kind(type)
        table.columns.append(Column(column, kind, nullable == "YES"))
        if default not in (None, "NULL"):
            table.defaults[column] = default
        if kind == "integer":
            table.widths[column] = "wide" if type == "bigint" else "narrow"
        if collation:
            table.collations[column] = collation
    for name, unique, only, names in indexes:
        # A generated column stands for what it is made of; one that is NULL for most rows, for a condition.
        made = shape[name].generated
        meant = tuple(_PARTIAL.get(made.get(column, ""), (made.get(column, column),))[0] for column in names)
        conditions = [_PARTIAL[made[column]][1] for column in names if made.get(column) in _PARTIAL]
        shape[name].indexes.append(Index(meant, bool(unique), only or " AND ".join(conditions)))
    return dict(shape)


# What MySQL has instead of a partial index: how a column is made, what it stands for, of which rows.
_PARTIAL = {
    "iffinished_at is null,unique_key,NULL": (
        "unique_key",
        "unique_key IS NOT NULL AND finished_at IS NULL",
    ),
    "iffinished_at is null,schedule,NULL": ("schedule", "schedule IS NOT NULL AND finished_at IS NULL"),
    "ifjob_group is null,NULL,state": ("state", "job_group IS NOT NULL"),
}
GENERATED = {"urgency": "-priority"} | dict(
    zip(("live_key", "live_schedule", "group_state"), _PARTIAL, strict=True)
)


def _kind(type: str) -> str:
    return next(kind for kind, names in KINDS.items() if type.lower() in names)

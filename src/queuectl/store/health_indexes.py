"""The indexes that our migrations make, so that a server's can be compared with them.

The migrations themselves are read, or a list here would fall behind. SQLite needs none of this: it can run
its migrations in memory.
"""

from __future__ import annotations

import os
import re

from queuectl.store.health import OK, PROBLEM, Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_TABLE = re.compile(r"CREATE TABLE (\w+) \((.*?)\n\)", re.DOTALL)
_INDEX = re.compile(r"CREATE (UNIQUE )?INDEX (\w+)\s+ON (\w+)\s*\(([^)]*)\)(.*)", re.DOTALL)
_CHANGED = re.compile(r"ALTER TABLE (\w+)\s")
_ADDED = re.compile(r"\bADD (UNIQUE )?(?:KEY|INDEX) (\w+)\s*\(([^)]*)\)")
_DROPPED = re.compile(r"\bDROP (?:KEY|INDEX) (?:IF EXISTS )?(\w+)")
_KEY = re.compile(r"^(UNIQUE )?KEY (\w+)\s*\(([^)]*)\)")
_PRIMARY = re.compile(r"^PRIMARY KEY\s*\(([^)]*)\)")
_COLUMN = re.compile(r"^`?(\w+)`?\s.*?\b(PRIMARY KEY|UNIQUE)\b")


class Index:
    """One that must be there."""

    __slots__ = ("columns", "condition", "name", "table", "unique")

    def __init__(self, table: str, name: str, columns: str, *, unique: bool, condition: str = "") -> None:
        self.table = table
        self.name = name
        self.columns = columns.replace("`", "")  # as it is written: "queue, priority DESC"
        self.unique = unique
        self.condition = condition  # with its WHERE

    @property
    def primary(self) -> bool:
        return self.name in ("PRIMARY", f"{self.table}_pkey")


def expected(engine: str) -> dict[tuple[str, str], Index]:
    """By table and name, as that engine names them."""
    found: dict[tuple[str, str], Index] = {}
    for statement in _statements(engine):
        # A statement that drops an index and adds one of the same name means a new one in its place.
        for name in _DROPPED.findall(statement):
            found = {place: index for place, index in found.items() if place[1] != name}
        for index in (*_in_tables(statement, engine), *_made(statement)):
            found[index.table, index.name] = index
    return found


def tables(engine: str) -> set[str]:
    """The tables that our migrations make; `queuectl_schema` says that a place is ours."""
    made = {name for statement in _statements(engine) for name, _ in _TABLE.findall(statement)}
    return made - {"queuectl_schema"}


def _statements(engine: str) -> Iterator[str]:
    """Those of all migrations, in the order in which they run."""
    directory = os.path.join(os.path.dirname(__file__), "migrations", engine)
    for name in sorted(os.listdir(directory)):
        with open(os.path.join(directory, name), encoding="utf-8") as file:
            yield from re.sub(r"--.*", "", file.read()).split(";")


def _made(statement: str) -> Iterator[Index]:
    for unique, name, table, columns, rest in _INDEX.findall(statement):
        yield Index(table, name, columns, unique=bool(unique), condition=" ".join(rest.split()))
    for table in _CHANGED.findall(statement):
        for unique, name, columns in _ADDED.findall(statement):
            yield Index(table, name, columns, unique=bool(unique))


def _in_tables(statement: str, engine: str) -> Iterator[Index]:
    """What a CREATE TABLE makes by the way, under the names that the engine gives it."""
    for table, body in _TABLE.findall(statement):
        primary = "PRIMARY" if engine == "mysql" else f"{table}_pkey"
        for line in map(str.strip, body.split("\n")):
            if key := _KEY.match(line):
                yield Index(table, key[2], key[3], unique=bool(key[1]))
            elif whole := _PRIMARY.match(line):
                yield Index(table, primary, whole[1], unique=True)
            elif column := _COLUMN.match(line):
                name = primary if column[2] == "PRIMARY KEY" else f"{table}_{column[1]}_key"
                yield Index(table, name, column[1], unique=True)


def compare(
    engine: str, there: Mapping[tuple[str, str], tuple[str, bool]], statement: str, place: str = ""
) -> list[Finding]:
    """`there`: columns and uniqueness by table and name. `statement`: how this engine makes an index."""
    found = []
    wanted = expected(engine)
    for key, index in wanted.items():
        if there.get(key) == (index.columns, index.unique):
            continue
        state = "is missing" if key not in there else "is not as queuectl made it"
        make = statement.format(
            unique="UNIQUE " if index.unique else "", name=index.name, table=place + index.table
        )
        make = f"{make} ({index.columns}) {index.condition}".rstrip()
        if index.primary:
            make = f"ALTER TABLE {place}{index.table} ADD PRIMARY KEY ({index.columns})"
        found.append(
            Finding(
                PROBLEM,
                "indexes",
                f"index {index.name} of {index.table} {state}",
                why="two rows may get the same key"
                if index.unique
                else "each claim has to read the whole table",
                mend=make,
            )
        )
    return found or [Finding(OK, "indexes", f"all {len(wanted)} indexes are there")]

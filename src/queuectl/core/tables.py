"""The tables of a queue as they travel, from one engine to another or through a file, and their checksums.

A new table is one more entry of TABLES. Reading and writing rows is left to `store.transfer`.
"""

from __future__ import annotations

import json
import math
from base64 import b64decode, b64encode
from hashlib import sha256
from typing import NamedTuple

from queuectl.core.fields import kind_of
from queuectl.core.job import Attempt, Job
from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Row = tuple[object, ...]

_INT64 = 2**63
_KINDS = {"int": "a whole number", "float": "a number", "str": "text", "bytes": "base64 text"}


class Column:
    """A column and what may stand in it, read off an annotation like `str | None`."""

    __slots__ = ("kind", "name", "optional")

    def __init__(self, name: str, annotation: str) -> None:
        self.name = name
        self.kind, _, rest = annotation.partition(" | ")
        self.optional = rest == "None"
        assert self.kind in _KINDS, annotation

    def decode(self, value: object) -> object:
        """What a file says, as the store keeps it; refuses what could not stand there."""
        if value is None and self.optional:
            return None
        decoded = _DECODERS[self.kind](value)
        if decoded is None:
            raise InvalidInput(
                f"{self.name} {_complaint(self.kind, value)}", "correct it, or export the queue again"
            )
        return decoded


class Table:
    """One table: its columns, and the key by whose order its rows travel."""

    __slots__ = (
        "_order",
        "_places",
        "_required",
        "columns",
        "key",
        "name",
        "names",
        "noun",
        "nouns",
        "numbered",
        "private",
    )

    def __init__(
        self,
        name: str,
        noun: str,
        annotations: Mapping[str, str],
        *,
        key: tuple[str, ...],
        numbered: str | None = None,
        private: str | None = None,
    ) -> None:
        self.name = name
        self.noun = noun  # what people call one row
        self.nouns = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
        self.columns = tuple(Column(*item) for item in annotations.items())
        self.names = tuple(annotations)
        self.key = key
        self.numbered = numbered  # a column that the engine counts up by itself for new rows
        self.private = private  # a row that begins with _ here is the store's own, and stays
        self._places = {column: place for place, column in enumerate(self.names)}
        self._order = sorted(self._places.items())
        self._required = tuple(column.name for column in self.columns if not column.optional)

    def key_of(self, row: Sequence[object]) -> Row:
        return tuple(row[self._places[column]] for column in self.key)

    def counted(self, rows: int) -> str:
        """`1 job`, `3,000 jobs`."""
        return f"{rows:,} {self.noun if rows == 1 else self.nouns}"

    def encode(self, row: Sequence[object]) -> str:
        """The same text for the same row, whatever engine it comes from.

        What is NULL is left out, so that a column which a later version adds changes no old checksum.
        """
        return _ENCODER.encode(
            {name: value for name, place in self._order if (value := row[place]) is not None}
        )

    def decode(self, fields: object) -> Row:
        """The row that `encode` wrote, or that somebody has edited; refuses what cannot be one."""
        if not isinstance(fields, dict):
            raise InvalidInput(f"a row of {self.name} must be an object, not {kind_of(fields)}")
        row: list[object] = [None] * len(self.columns)
        for name, value in fields.items():
            place = self._places.get(name)
            if place is None:
                raise InvalidInput(
                    f"{self.name} has no column {name[:60]!r}",
                    "the file may be of a newer queuectl: pip install --upgrade queuectl",
                )
            row[place] = self.columns[place].decode(value)
        for name in self._required:
            if name not in fields:
                raise InvalidInput(f"column {name} of {self.name} is missing")
        return tuple(row)


JOBS = Table("jobs", "job", Job.__annotations__, key=("seq",), numbered="seq")
ATTEMPTS = Table("attempts", "attempt", {"job_seq": "int", **Attempt.__annotations__}, key=("job_seq", "run"))
CONFIG = Table(
    "config", "setting", {"key": "str", "value": "str", "updated_at": "int"}, key=("key",), private="key"
)
DEPENDENCIES = Table(
    "dependencies",
    "dependency",
    {"parent_seq": "int", "child_seq": "int", "kind": "str", "settled": "int | None"},
    key=("parent_seq", "child_seq"),
)
UNSETTLED = Table("unsettled", "unsettled job", {"seq": "int"}, key=("seq",))
QUEUES = Table(
    "queues",
    "queue",
    {
        "name": "str",
        "concurrency": "int | None",
        "rate": "str | None",
        "burst": "int | None",
        "rate_spent": "int | None",
        "timeout": "int | None",
        "max_retries": "int | None",
        "backoff_strategy": "str | None",
        "backoff_base": "float | None",
        "backoff_max": "int | None",
        "retry_delay": "int | None",
        "paused_at": "int | None",
        "paused_until": "int | None",
        "pause_reason": "str | None",
        "draining": "int | None",
        "updated_at": "int",
        "notify": "str | None",
        "timeout_percent": "int | None",
    },
    key=("name",),
)
JOB_GROUPS = Table(
    "job_groups", "group", {"name": "str", "concurrency": "int", "updated_at": "int"}, key=("name",)
)
SCHEDULES = Table(
    "schedules",
    "schedule",
    {
        "name": "str",
        "recurrence": "str",
        "zone": "str",
        "catch_up": "str",
        "overlap": "str",
        "job": "str",
        "next_at": "int | None",
        "paused_at": "int | None",
        "last_at": "int | None",
        "last_job": "str | None",
        "fired": "int",
        "skipped": "int",
        "created_at": "int",
        "updated_at": "int",
    },
    key=("name",),
)
# In this order they are written. Workers do not travel: they are processes.
TABLES = (JOBS, ATTEMPTS, CONFIG, DEPENDENCIES, UNSETTLED, QUEUES, JOB_GROUPS, SCHEDULES)


class Seal(NamedTuple):
    """How many rows a table has, and their checksum in the order of their keys."""

    rows: int
    sha256: str


class Sealer:
    """Takes the rows of a table as they come by."""

    __slots__ = ("_hash", "_table", "rows")

    def __init__(self, table: Table) -> None:
        self._table = table
        self._hash = sha256()
        self.rows = 0

    def add(self, rows: Iterable[Sequence[object]]) -> list[str]:
        """The rows, encoded."""
        lines = [self._table.encode(row) for row in rows]
        self.rows += len(lines)
        self._hash.update("".join(f"{line}\n" for line in lines).encode())
        return lines

    @property
    def seal(self) -> Seal:
        return Seal(self.rows, self._hash.hexdigest())


def _as_base64(value: object) -> str:
    assert isinstance(value, bytes), type(value)
    return b64encode(value).decode()


# ASCII only: a file that is shown on a terminal cannot steer it.
_ENCODER = json.JSONEncoder(separators=(",", ":"), default=_as_base64)


def _int(value: object) -> object:
    fits = isinstance(value, int) and not isinstance(value, bool) and -_INT64 <= value < _INT64
    return value if fits else None


def _float(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _text(value: object) -> object:
    if not isinstance(value, str) or "\0" in value:
        return None
    try:
        value.encode()
    except UnicodeEncodeError:  # half of a character
        return None
    return value


def _blob(value: object) -> object:
    try:
        return b64decode(value, validate=True) if isinstance(value, str) else None
    except ValueError:
        return None


_DECODERS = {"int": _int, "float": _float, "str": _text, "bytes": _blob}


def _complaint(kind: str, value: object) -> str:
    if kind == "str" and isinstance(value, str):
        return f"holds what is no text: {ascii(value)[:40]}"
    if kind in ("int", "float") and type(value) is int:
        return "is too large a number"
    shown = f" ({ascii(value)[:40]})" if isinstance(value, str | float) else ""
    return f"must be {_KINDS[kind]}, not {kind_of(value)}{shown}"

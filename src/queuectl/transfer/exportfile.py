"""Reads what `export` has written, or what somebody made of it: every error names its line.

Storing the rows is left to `load`.
"""

from __future__ import annotations

import json

from queuectl.core.fields import kind_of
from queuectl.core.tables import TABLES, Sealer
from queuectl.errors import InvalidInput
from queuectl.transfer.checks import check_row
from queuectl.transfer.export import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import BinaryIO

    from queuectl.core.tables import Row, Table
    from queuectl.transfer.progress import Tally
    from queuectl.transfer.seals import Seals

_LONGEST_LINE = 256 << 20
_ROWS_AT_ONCE = 500
_BYTES_AT_ONCE = 4_000_000
_TABLES = {table.name: table for table in TABLES}


class ExportFile:
    """A file that can be gone through again and again; `seals` are known after `check`."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.seals: Seals = {}
        self.settings: dict[str, str] = {}

    def check(self, done: Tally, *, edited: bool, running: bool = False) -> None:
        """Read all of it, and refuse what is not a whole and valid export. `edited`: checksums may differ;
        `running`: jobs may belong to a worker, as in a backup.
        """
        sealers = {table.name: Sealer(table) for table in TABLES}
        last: dict[str, Row] = {}
        end: Mapping[str, object] = {}
        for number, size, table, content in self._lines():
            done(size)
            if table is None:
                end = content
                continue
            try:
                row = table.decode(content)
                check_row(table, row, self.settings, running=running)
                _refuse_disorder(table, row, last)
            except InvalidInput as error:
                error.message = f"line {number}: {error.message}"
                raise
            sealers[table.name].add([row])
        self.seals = {name: sealer.seal for name, sealer in sealers.items()}
        if not edited:
            _compare(self.seals, end)

    def parts(self) -> Iterator[tuple[Table, list[Row]]]:
        """The rows, some of a table at a time. What was checked is not checked again."""
        rows: list[Row] = []
        current, held = TABLES[0], 0
        for _, size, table, content in self._lines():
            if rows and (table is not current or len(rows) >= _ROWS_AT_ONCE or held > _BYTES_AT_ONCE):
                yield current, rows
                rows, held = [], 0
            if table is not None:
                rows.append(table.decode(content))
                current, held = table, held + size

    def _lines(self) -> Iterator[tuple[int, int, Table | None, Mapping[str, object]]]:
        """Number, size, table and row of every line between the first and the last; no table: the last."""
        self._file.seek(0)
        first = self._file.readline(_LONGEST_LINE)
        _check_header(first.removeprefix(b"\xef\xbb\xbf"))
        ended = False
        for number, line in enumerate(iter(lambda: self._file.readline(_LONGEST_LINE), b""), 2):
            if not line.strip():
                continue
            if ended:
                raise InvalidInput(f"line {number}: there is more behind the end of the export")
            fields = _parsed(line, number)
            ended = fields.get("queuectl") == "end"
            if ended:
                yield number, len(line), None, fields
                continue
            yield number, len(line), _table_of(fields, number), _row_of(fields, number)
        if not ended:
            raise InvalidInput(
                "the file is cut off: its last line, with the checksums, is missing",
                "nothing was imported; export the queue again",
            )


def _parsed(line: bytes, number: int) -> dict[str, object]:
    if len(line) == _LONGEST_LINE:
        raise InvalidInput(f"line {number}: it is longer than any row can be")
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:  # ValueError: no JSON, no UTF-8, or a number without end
        where = "" if line.endswith(b"\n") else "; the file seems to be cut off here"
        said = getattr(error, "msg", "it cannot be read")
        raise InvalidInput(f"line {number}: malformed JSON ({said}){where}", "nothing was imported") from None
    if not isinstance(fields, dict):
        raise InvalidInput(f"line {number}: a line must be an object, not {kind_of(fields)}")
    return fields


def _check_header(line: bytes) -> None:
    try:
        header = json.loads(line)
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict) or header.get("queuectl") != "export":
        raise InvalidInput("this is no export of queuectl", "queuectl export FILE writes one")
    if header.get("version") != VERSION:
        raise InvalidInput(
            f"the export has version {ascii(header.get('version'))[:20]}, this queuectl reads {VERSION}",
            "pip install --upgrade queuectl",
        )


def _table_of(fields: Mapping[str, object], number: int) -> Table:
    name = fields.get("table")
    table = _TABLES.get(name) if isinstance(name, str) else None
    if table is None:
        raise InvalidInput(
            f"line {number}: unknown table {ascii(name)[:60]}",
            "the file may be of a newer queuectl; known: " + ", ".join(_TABLES),
        )
    return table


def _row_of(fields: Mapping[str, object], number: int) -> Mapping[str, object]:
    unknown = sorted(fields.keys() - {"table", "row"})
    if unknown:
        raise InvalidInput(f"line {number}: unknown field {unknown[0][:60]!r}", "known: table, row")
    row = fields.get("row")
    if not isinstance(row, dict):
        raise InvalidInput(f"line {number}: row must be an object, not {kind_of(row)}")
    return row


def _refuse_disorder(table: Table, row: Row, last: dict[str, Row]) -> None:
    """Checksums follow the order of keys; and so no key can be there twice."""
    key = table.key_of(row)
    before = last.get(table.name)
    if before is not None and not before < key:
        names = ", ".join(table.key)
        raise InvalidInput(f"{table.name} must be in the order of {names}, each once; {key} is not")
    last[table.name] = key


def _compare(found: Seals, end: Mapping[str, object]) -> None:
    tables = end.get("tables")
    stated = tables if isinstance(tables, dict) else {}
    for table in TABLES:
        # An older version did not have all tables: what its file does not speak of must be empty.
        if stated.get(table.name, Sealer(table).seal._asdict()) != found[table.name]._asdict():
            raise InvalidInput(
                f"the {table.nouns} are not those that were exported: count or checksum differ",
                "the file is damaged, or was edited; if that was you, add --edited",
            )

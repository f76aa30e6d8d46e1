"""Rows that can be gone through again: in memory while they are few, else in a file without a name.

What is read from a pipe comes only once, but a transaction that the server has lost must start anew.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import IO

    # Whether rows whose key exists are left out, and the rows.
    Part = tuple[bool, Sequence[Sequence[object]]]


class Spool:
    """Collects all parts at once; iterate as often as needed. At most so many rows stay in memory."""

    def __init__(self, parts: Iterable[Part], *, rows_in_memory: int = 100_000) -> None:
        self._parts: list[Part] = []
        self._file: IO[bytes] | None = None
        self.rows = 0
        try:
            for part in parts:
                self.rows += len(part[1])
                self._parts.append(part)
                if self.rows > rows_in_memory:
                    self._put_away()
        except BaseException:  # one of the rows may turn out to be wrong
            self.close()
            raise

    def _put_away(self) -> None:
        if self._file is None:
            from tempfile import TemporaryFile

            self._file = TemporaryFile()  # noqa: SIM115  # lives as long as we do
        for part in self._parts:
            self._file.write(json.dumps(part, ensure_ascii=False).encode() + b"\n")
        self._parts.clear()

    def __iter__(self) -> Iterator[Part]:
        if self._file is not None:
            self._file.seek(0)
            for line in self._file:
                skip, rows = json.loads(line)
                yield skip, rows
        yield from self._parts

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

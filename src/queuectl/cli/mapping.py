"""The jobs of `map`: its sources are opened and read, and each input becomes a job.

How inputs combine and commands are filled in is left to `core.inputs` and `core.templates`; storing to the
command.
"""

from __future__ import annotations

import os
import sys
from itertools import chain

from queuectl.core.ids import check_id
from queuectl.core.inputs import FILE, Source, columns, combine, count, job_key, split_records
from queuectl.core.spec import job_from_fields
from queuectl.core.templates import compile_template
from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import IO

    from queuectl.core.job import NewJob
    from queuectl.core.spec import Defaults

    Row = tuple[str, ...]

_BLOCK = 1 << 16
_LONGEST_NAME = 60  # with "map:" before it, it is a tag and a group


def check_name(name: str) -> str:
    check_id(name, "the name of a map")
    if len(name) > _LONGEST_NAME:
        raise InvalidInput(f"the name of a map has {len(name)} characters", f"use {_LONGEST_NAME} at most")
    return name


def tag_of(name: str) -> str:
    """What all jobs of a map carry."""
    return f"map:{name}"


class Inputs:
    """The rows of all sources together. Files are opened at once: one that is missing stops everything."""

    __slots__ = ("_first", "_lists", "_opened", "_separator", "_size", "header")

    def __init__(
        self,
        sources: list[Source],
        *,
        nul: bool = False,
        separator: str | None = None,
        header: bool = False,
        skip_blank: bool = False,
    ) -> None:
        self._opened: list[IO[bytes]] = []
        self._separator = separator
        self._first: IO[bytes] | None = None  # the file that is read as it comes
        self._size = 0
        if separator is not None:
            columns("", separator)  # refused here, not at the first line
        if sum(source.kind == FILE and source.words == ["-"] for source in sources) > 1:
            raise InvalidInput("stdin is given twice", "it can be read only once")
        self._lists: list[tuple[Iterable[str], bool]] = []
        self.header: Row = ()
        try:
            for source in sources:
                values = self._values(source, nul)
                if skip_blank:
                    values = (value for value in values if value.strip())
                if header:
                    values, name = _headed(values)
                    self.header += (name,) if separator is None else columns(name, separator)
                self._lists.append((values, source.linked))
        except BaseException:
            self.__exit__()
            raise

    def __iter__(self) -> Iterator[Row]:
        for row in combine(self._lists):
            if self._separator is None:
                yield row
            else:
                yield tuple([column for value in row for column in columns(value, self._separator)])

    def __enter__(self) -> Inputs:
        return self

    def __exit__(self, *exc: object) -> None:
        for file in self._opened:
            file.close()

    def share(self, done: int, read: int) -> float | None:
        """How much is done, if that can be told: `done` inputs are stored of `read` that were read."""
        total = count(self._lists)
        if total:
            return done / total
        if self._first is None or not self._size:
            return None
        return self._first.tell() / self._size * done / max(read, 1)

    def _values(self, source: Source, nul: bool) -> Iterable[str]:
        if source.kind != FILE:
            return source.words
        path = source.words[0]
        stream = self._open(path)
        if not self._lists and path != "-":
            self._first, self._size = stream, os.fstat(stream.fileno()).st_size
        return split_records(_blocks(stream, path), nul)

    def _open(self, path: str) -> IO[bytes]:
        if path == "-":
            return _stdin()
        try:
            opened = open(path, "rb")  # noqa: SIM115  # closed with us
        except (OSError, ValueError) as error:  # ValueError: a NUL byte in the name
            raise _unreadable(path, error) from None
        self._opened.append(opened)
        return opened


def _stdin() -> IO[bytes]:
    if sys.stdin is None or sys.stdin.isatty():
        raise InvalidInput(
            "there are no inputs, and nothing is piped in", "like: queuectl map 'gzip {}' ::: a b"
        )
    return sys.stdin.buffer


def _blocks(stream: IO[bytes], path: str) -> Iterator[bytes]:
    try:
        yield from iter(lambda: stream.read(_BLOCK), b"")
    except OSError as error:
        raise _unreadable(path, error) from None


def _unreadable(path: str, error: Exception) -> InvalidInput:
    reason = error.strerror if isinstance(error, OSError) else error
    return InvalidInput(
        f"cannot read {path!r}: {reason}", "check the path; values go after :::, files after ::::"
    )


def _headed(values: Iterable[str]) -> tuple[Iterable[str], str]:
    """A source without its first value, and that."""
    if isinstance(values, list):
        if values:
            return values[1:], values[0]
    else:
        values = iter(values)
        for name in values:
            return values, name
    raise InvalidInput("an input source has no header", "with --header its first line names its columns")


class MapJobs:
    """Makes a job for each input; `fields` are what all of them have.

    With a `key` their ids are made of it and their input, so that the same input is the same job again.
    """

    __slots__ = ("_fields", "_first", "_key", "_kind", "_rows", "_template", "read")

    def __init__(
        self,
        command: list[str],
        inputs: Inputs,
        fields: dict[str, object],
        *,
        replacement: str,
        key: str | None = None,
    ) -> None:
        self.read = 0  # inputs so far
        self._fields = fields
        self._key = key
        self._kind = "argv" if len(command) > 1 else "command"
        self._rows = iter(inputs)
        self._first = next(self._rows, None)  # how many columns there are is known with it
        template: str | list[str] = command if self._kind == "argv" else "".join(command)
        if self._first is None and template:
            template = "true"  # without any input nobody knows whether the columns that it wants are there
        width = len(self._first or inputs.header) or 1
        self._template = compile_template(template, width, inputs.header, replacement=replacement)

    def check(self, defaults: Defaults) -> None:
        """Whether the fields make a job at all, and the first input does, before a store is opened."""
        job_from_fields({**self._fields, "command": "true"}, defaults)
        if self._first is not None:
            self._job(self._first, 1, defaults)

    def make(self, defaults: Defaults) -> Iterator[NewJob]:
        first = () if self._first is None else (self._first,)
        for number, row in enumerate(chain(first, self._rows), 1):
            self.read = number
            yield self._job(row, number, defaults)

    def _job(self, row: Row, number: int, defaults: Defaults) -> NewJob:
        command = self._template.render(row, number)
        try:
            job = job_from_fields({**self._fields, self._kind: command}, defaults)
        except InvalidInput as error:
            error.message = f"input {number}: {error.message}"
            raise
        if self._key is not None:
            job.id = job_key(self._key, row)
        return job

"""Many jobs from a file or stdin: JSON lines, a JSON array, one pretty-printed object, or plain lines.

Storing them is left to the caller; every error names its line.
"""

from __future__ import annotations

import sys

from queuectl.cli.strictjson import MalformedJson, load_json
from queuectl.core.spec import Defaults, job_from_command, job_from_fields
from queuectl.errors import DuplicateId, InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TextIO, TypeVar

    from queuectl.core.job import NewJob

    T = TypeVar("T")

# Beyond so many ids their lines are not remembered: 40 MB are enough for a better message.
_REMEMBERED = 200_000


def open_jobs(path: str) -> TextIO:
    """The file, or stdin for `-`; a UTF-8 BOM is passed over, broken UTF-8 is an error of its line."""
    source: str | int = path
    if path == "-":
        if sys.stdin is None or sys.stdin.isatty():
            raise InvalidInput("nothing is piped in", "like: cat jobs.jsonl | queuectl enqueue -f -")
        source = sys.stdin.fileno()
    try:
        return open(source, encoding="utf-8-sig", errors="surrogateescape", closefd=path != "-")
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the name
        reason = error.strerror if isinstance(error, OSError) else error
        raise InvalidInput(f"cannot read {path!r}: {reason}", "check the path") from None


class JobReader:
    """Makes jobs out of what a file holds. `over` are the flags, which win over its fields.

    With `unique`, an id that the file gives twice is an error that names both places.
    """

    __slots__ = ("_defaults", "_note", "_over", "_places", "_unique", "count", "unit")

    def __init__(
        self,
        defaults: Defaults,
        over: dict[str, object],
        *,
        note: Callable[[str], None],
        unique: bool = True,
    ) -> None:
        self._defaults = defaults
        self._over = over
        self._note = note
        self._unique = unique
        self._places: dict[str, int] = {}
        self.unit = "line"  # what a place counts
        self.count = 0  # jobs read so far

    def read_json(self, file: TextIO) -> Iterator[NewJob]:
        """Jobs from JSON in any of its forms."""
        first, lineno = _first_line(file)
        if first is None:
            return
        if _is_document(first):
            # Blank lines before it are given back, so that an error names the right line.
            yield from self._document("\n" * (lineno - 1) + first + file.read())
            return
        line: str = first
        while line:
            if line.strip():
                yield self._job(self._parsed, line, lineno)
            line = file.readline()
            lineno += 1

    def read_lines(self, file: TextIO) -> Iterator[NewJob]:
        """A shell command per line; blank lines and lines that start with # are passed over."""
        for lineno, line in enumerate(file, 1):
            command = line.rstrip("\r\n")
            if command.strip() and not command.lstrip().startswith("#"):
                yield self._job(self._command, command, lineno)

    def place_of(self, id: str | None) -> str | None:
        """`line 7`: where the id stands, if that is known."""
        found = self._places.get(id or "")
        return None if found is None else f"{self.unit} {found}"

    def _document(self, text: str) -> Iterator[NewJob]:
        document = load_json(text)
        self.unit = "job"
        raws = document if isinstance(document, list) else [document]
        for number, raw in enumerate(raws, 1):
            yield self._job(self._fields, raw, number)

    def _job(self, make: Callable[[T], NewJob], source: T, place: int) -> NewJob:
        try:
            job = make(source)
            if job.id is not None:
                self._remember(job.id, place)
        except InvalidInput as error:
            error.message = f"{self.unit} {place}: {error.message}"
            raise
        self.count += 1
        return job

    def _remember(self, id: str, place: int) -> None:
        if id in self._places:
            if self._unique:
                raise DuplicateId(
                    f"the id {id} is given twice, first in {self.place_of(id)}",
                    "every job needs an id of its own",
                )
        elif len(self._places) < _REMEMBERED:
            self._places[id] = place

    def _parsed(self, line: str) -> NewJob:
        try:
            raw = load_json(line.rstrip())
        except MalformedJson as error:
            raise InvalidInput(
                error.message.replace("at line 1, ", "at "),
                "give one JSON object a line, or --lines for shell commands",
            ) from None
        return self._fields(raw)

    def _fields(self, raw: object) -> NewJob:
        if self._over and isinstance(raw, dict):
            raw = {**raw, **self._over}
        return job_from_fields(raw, self._defaults, self._note)

    def _command(self, command: str) -> NewJob:
        if not self._over:
            return job_from_command(command, self._defaults)
        return job_from_fields({**self._over, "command": command}, self._defaults)


def _is_document(first: str) -> bool:
    """Whether the first line begins an array or a pretty-printed object; else there is one job a line."""
    text = first.strip()
    return text.startswith("[") or (text.startswith("{") and not text.endswith("}"))


def _first_line(file: TextIO) -> tuple[str | None, int]:
    for lineno, line in enumerate(iter(file.readline, ""), 1):
        if line.strip():
            return line, lineno
    return None, 0

"""Many jobs from a file or stdin: JSON lines, a JSON array, one pretty-printed object, or plain lines.

Storing them is left to the caller; every error names its line.
"""

from __future__ import annotations

import sys
from itertools import chain, groupby

from queuectl.arriving import in_batches
from queuectl.core.batches import Commands
from queuectl.core.spec import Defaults, check_command, job_from_fields
from queuectl.core.strictjson import MalformedJson, load_json
from queuectl.errors import DuplicateId, InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TextIO, TypeVar

    from queuectl.core.batches import Batch
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

    __slots__ = ("_defaults", "_note", "_over", "_places", "_plain", "_unique", "count", "unit")

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
        self._plain: NewJob | None = None  # what jobs are like that have nothing of their own but a command
        self.unit = "line"  # what a place counts
        self.count = 0  # jobs read so far

    def read_json(self, file: TextIO) -> Iterator[Batch]:
        """Jobs from JSON in any of its forms."""
        first, lineno = _first_line(file)
        if first is None:
            return iter(())
        if _is_document(first):
            # Blank lines before it are given back, so that an error names the right line.
            return self._document("\n" * (lineno - 1) + first + file.read())
        lines = enumerate(chain((first,), file), lineno)
        return self._batches(self._parsed, (numbered for numbered in lines if numbered[1].strip()))

    def read_lines(self, file: TextIO) -> Iterator[Batch]:
        """A shell command per line; blank lines and lines that start with # are passed over."""
        lines = ((number, line.rstrip("\r\n")) for number, line in enumerate(file, 1))
        return self._batches(self._command, (line for line in lines if line[1].lstrip()[:1] not in ("", "#")))

    def place_of(self, id: str | None) -> str | None:
        """`line 7`: where the id stands, if that is known."""
        found = self._places.get(id or "")
        return None if found is None else f"{self.unit} {found}"

    def _document(self, text: str) -> Iterator[Batch]:
        document = load_json(text)
        self.unit = "job"
        raws = document if isinstance(document, list) else [document]
        return self._batches(self._fields, enumerate(raws, 1))

    def _batches(
        self, make: Callable[[T], str | NewJob], numbered: Iterable[tuple[int, T]]
    ) -> Iterator[Batch]:
        for _, alike in groupby(self._made(make, numbered), type):
            for part in in_batches(alike):
                yield self._batch(part)

    def _batch(self, part: list[str | NewJob]) -> Batch:
        """Of one kind: commands, or jobs that have more."""
        commands = [item for item in part if isinstance(item, str)]
        if commands and self._plain is not None:
            return Commands(commands, self._plain)
        return [item for item in part if not isinstance(item, str)]

    def _made(
        self, make: Callable[[T], str | NewJob], numbered: Iterable[tuple[int, T]]
    ) -> Iterator[str | NewJob]:
        place = 0
        try:
            for place, source in numbered:
                made = make(source)
                if not isinstance(made, str) and made.id is not None:
                    self._remember(made.id, place)
                self.count += 1
                yield made
        except InvalidInput as error:
            error.message = f"{self.unit} {place}: {error.message}"
            raise

    def _remember(self, id: str, place: int) -> None:
        if id in self._places:
            if self._unique:
                raise DuplicateId(
                    f"the id {id} is given twice, first in {self.place_of(id)}",
                    "every job needs an id of its own",
                )
        elif len(self._places) < _REMEMBERED:
            self._places[id] = place

    def _parsed(self, line: str) -> str | NewJob:
        try:
            raw = load_json(line.rstrip())
        except MalformedJson as error:
            raise InvalidInput(
                error.message.replace("at line 1, ", "at "),
                "give one JSON object a line, or --lines for shell commands",
            ) from None
        return self._fields(raw)

    def _fields(self, raw: object) -> str | NewJob:
        if isinstance(raw, dict):
            if len(raw) == 1 and isinstance(command := raw.get("command"), str):
                return self._command(command)
            if self._over:
                raw = {**raw, **self._over}
        return job_from_fields(raw, self._defaults, self._note)

    def _command(self, command: str) -> str | NewJob:
        """A job that has nothing of its own but a command: only that, if the others can be made like one."""
        if self._plain is not None:
            return check_command(command)
        job = job_from_fields({**self._over, "command": command}, self._defaults)
        if job.conditions is None:
            self._plain = job
            return command
        return job


def _is_document(first: str) -> bool:
    """Whether the first line begins an array or a pretty-printed object; else there is one job a line."""
    text = first.strip()
    return text.startswith("[") or (text.startswith("{") and not text.endswith("}"))


def _first_line(file: TextIO) -> tuple[str | None, int]:
    for lineno, line in enumerate(iter(file.readline, ""), 1):
        if line.strip():
            return line, lineno
    return None, 0

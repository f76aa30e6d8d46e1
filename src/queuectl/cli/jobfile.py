"""Many jobs from a file or stdin: JSON lines, a JSON array, one pretty-printed object, or plain lines."""

from __future__ import annotations

import sys

from queuectl.cli.jobspec import load_json
from queuectl.core.spec import Defaults, job_from_command, job_from_fields
from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TextIO

    from queuectl.core.job import NewJob


def open_jobs(path: str) -> TextIO:
    """The file, or stdin for `-`; a UTF-8 BOM is passed over, broken UTF-8 is an error of its line."""
    source: str | int = path
    if path == "-":
        if sys.stdin is None or sys.stdin.isatty():
            raise InvalidInput("nothing is piped in", "like: cat jobs.jsonl | queuectl enqueue -f -")
        source = sys.stdin.fileno()
    try:
        return open(source, encoding="utf-8-sig", errors="surrogateescape", closefd=path != "-")
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror}", "check the path") from None


def read_jobs(
    file: TextIO, defaults: Defaults, over: dict[str, object], note: Callable[[str], None]
) -> Iterator[NewJob]:
    """Jobs from JSON in any of its forms; `over` are the flags, which win."""
    first, lineno = _first_line(file)
    if first is None:
        return
    if first.lstrip().startswith("[") or first.strip() == "{":
        yield from _whole_document(first, lineno, file, defaults, over, note)
        return
    line: str = first
    while True:
        if line.strip():
            yield _one(line, f"line {lineno}", defaults, over, note)
        line = file.readline()
        lineno += 1
        if not line:
            return


def read_lines(file: TextIO, defaults: Defaults, over: dict[str, object]) -> Iterator[NewJob]:
    """A shell command per line; blank lines and lines that start with # are passed over."""
    plain = not over
    for lineno, line in enumerate(file, 1):
        command = line.rstrip("\r\n")
        if not command.strip() or command.lstrip().startswith("#"):
            continue
        try:
            if plain:
                yield job_from_command(command, defaults)
            else:
                yield job_from_fields({**over, "command": command}, defaults)
        except InvalidInput as error:
            raise _at(f"line {lineno}", error) from None


def _first_line(file: TextIO) -> tuple[str | None, int]:
    for lineno, line in enumerate(iter(file.readline, ""), 1):
        if line.strip():
            return line, lineno
    return None, 0


def _whole_document(
    first: str,
    lineno: int,
    file: TextIO,
    defaults: Defaults,
    over: dict[str, object],
    note: Callable[[str], None],
) -> Iterator[NewJob]:
    # Blank lines before it are given back, so that an error names the right line.
    document = load_json("\n" * (lineno - 1) + first + file.read())
    if isinstance(document, dict):
        document = [document]
    assert isinstance(document, list)
    for number, raw in enumerate(document, 1):
        yield _build(raw, f"job {number}", defaults, over, note)


def _one(
    line: str,
    place: str,
    defaults: Defaults,
    over: dict[str, object],
    note: Callable[[str], None],
) -> NewJob:
    try:
        raw = load_json(line)
    except InvalidInput as error:
        message = error.message.replace("at line 1, ", "at ")
        raise InvalidInput(
            f"{place}: {message}", "give one JSON object a line, or --lines for shell commands"
        ) from None
    return _build(raw, place, defaults, over, note)


def _build(
    raw: object,
    place: str,
    defaults: Defaults,
    over: dict[str, object],
    note: Callable[[str], None],
) -> NewJob:
    try:
        if over and isinstance(raw, dict):
            raw = {**raw, **over}
        return job_from_fields(raw, defaults, note)
    except InvalidInput as error:
        raise _at(place, error) from None


def _at(place: str, error: InvalidInput) -> InvalidInput:
    return InvalidInput(f"{place}: {error.message}", error.hint)

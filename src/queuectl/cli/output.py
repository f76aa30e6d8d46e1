"""What goes to people: safe text, plain tables, JSON. Data on stdout, everything else on stderr.

Colours, bars and the width of the screen are used only on a terminal.
"""

from __future__ import annotations

import json
import os
import sys
from itertools import islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# Characters that reorder or hide text. A job's command and output are written by strangers, as far as
# the terminal is concerned.
_STEERING = frozenset(
    (0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A), 0xFEFF),
)


class _Escapes(dict[int, str | int]):
    """For `str.translate`; filled as characters come by, since all of it would cost each start 2 ms."""

    def __missing__(self, code: int) -> str | int:
        is_control = code < 0x20 or 0x7F <= code < 0xA0
        is_surrogate = 0xD800 <= code < 0xE000
        if is_control or is_surrogate or code in _STEERING:
            self[code] = f"\\x{code:02x}" if is_control else f"\\u{code:04x}"
        else:
            self[code] = code
        return self[code]


_UNSAFE = _Escapes({0x09: 0x09, 0x0A: 0x0A})
_ONE_LINE = _Escapes({0x09: "\\t", 0x0A: "\\n"})

_TABLE_BATCH = 1_000

_COLOURS = {
    "completed": "32",
    "processing": "36",
    "failed": "33",
    "dead": "31",
    "cancelled": "2",
    "pending": "0",
    "scheduled": "34",
    "blocked": "35",
}


def clean(text: str) -> str:
    """Text that cannot steer a terminal and stays on one line."""
    return text if text.isascii() and text.isprintable() else text.translate(_ONE_LINE)


def clean_lines(text: str) -> str:
    """The same for text of several lines: newlines and tabs stay."""
    return text.translate(_UNSAFE)


def is_terminal(stream: object = None) -> bool:
    return bool(getattr(stream or sys.stdout, "isatty", lambda: False)())


def colours(stream: object = None) -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR") or os.environ.get("CLICOLOR_FORCE"):
        return True
    return os.environ.get("TERM") != "dumb" and is_terminal(stream)


def paint(text: str, state: str) -> str:
    """A word in the colour of a state, on a terminal."""
    code = _COLOURS.get(state)
    return f"\x1b[{code}m{text}\x1b[0m" if code and colours() else text


def say(text: str) -> None:
    """A sentence for the person at the keyboard; never mixed with data.

    A name in it may come from another machine, so it is made safe here and not by each who has one to tell.
    """
    sys.stderr.write((text if text.isascii() and text.isprintable() else clean_lines(text)) + "\n")


def print_json(value: object) -> None:
    json.dump(value, sys.stdout, indent=2, ensure_ascii=True)
    sys.stdout.write("\n")


def print_json_array(values: Iterable[object]) -> None:
    """One JSON array, written piece by piece: a million jobs need no memory."""
    sys.stdout.write("[")
    separator = "\n"
    for value in values:
        sys.stdout.write(separator + json.dumps(value))
        separator = ",\n"
    sys.stdout.write("]\n" if separator == "\n" else "\n]\n")


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]], *, state_column: int = -1) -> None:
    """Aligned columns; the last one is cut to the screen on a terminal and never in a pipe.

    Rows are printed in batches, so a million of them need no memory; columns only ever widen.
    """
    source = iter(rows)
    widths = [len(title) for title in header]
    lines = [list(header)]
    titles = 1
    while True:
        batch = [[clean(cell) for cell in row] for row in islice(source, _TABLE_BATCH)]
        lines += batch
        for column, cells in enumerate(zip(*batch, strict=True)):
            widths[column] = max(widths[column], *map(len, cells))
        _print_lines(lines, widths, titles, state_column)
        if len(batch) < _TABLE_BATCH:
            return
        lines, titles = [], 0


def _print_lines(lines: list[list[str]], widths: list[int], titles: int, state_column: int) -> None:
    room = _screen_width() - sum(widths[:-1]) - 2 * (len(widths) - 1)
    for number, line in enumerate(lines):
        last = line[-1]
        if len(last) > room >= 8:
            last = last[: room - 1] + "…"
        cells = [cell.ljust(width) for cell, width in zip(line[:-1], widths[:-1], strict=True)]
        if number >= titles and 0 <= state_column < len(cells):
            cells[state_column] = paint(cells[state_column], line[state_column])
        sys.stdout.write("  ".join([*cells, last]).rstrip() + "\n")


def _screen_width() -> int:
    if not is_terminal():
        return 1 << 30
    try:
        return os.get_terminal_size().columns
    except OSError:
        return 80


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def confirm(question: str, *, yes: bool) -> bool:
    """Ask on a terminal; elsewhere only an explicit --yes will do."""
    if yes:
        return True
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        from queuectl.errors import Refused

        raise Refused(question, "add --yes to go ahead")
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")

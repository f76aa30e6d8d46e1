"""What goes to people: safe text, plain tables, JSON. Data on stdout, everything else on stderr.

Colours, bars and the width of the screen are used only on a terminal.
"""

from __future__ import annotations

import json
import os
import sys
from itertools import chain, islice

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


class _Named:
    """By --db. What the environment or the settings say holds for the next command too."""

    store: str | None = None


def clean(text: str) -> str:
    """Text that cannot steer a terminal and stays on one line."""
    return text if text.isascii() and text.isprintable() else text.translate(_ONE_LINE)


def clean_lines(text: str) -> str:
    """The same for text of several lines: newlines and tabs stay."""
    return text.translate(_UNSAFE)


def is_terminal(stream: object = None) -> bool:
    return bool(getattr(stream or sys.stdout, "isatty", lambda: False)())


def colours(stream: object = None) -> bool:
    """Whether to write in colours; every command asks here."""
    if os.environ.get("NO_COLOR"):
        return False
    if any(os.environ.get(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    return can_redraw(stream)


def can_redraw(stream: object = None) -> bool:
    """Whether a line can be written over: a terminal, and none that knows no escapes."""
    return os.environ.get("TERM") != "dumb" and is_terminal(stream)


def paint(text: str, state: str) -> str:
    """A word in the colour of a state, where there are colours."""
    return in_colour(text, _COLOURS.get(state))


def in_colour(text: str, code: str | None) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if code and colours() else text


def name_store(given: str | None) -> None:
    """From now on this is the store that commands in our sentences are for; None: the usual one."""
    _Named.store = given


def pasteable(text: str) -> str:
    """A sentence in which each command is for the store that --db has named, if it has named one."""
    if not _Named.store or "queuectl " not in text:
        return text
    from queuectl.cli.pasting import for_store

    return for_store(text, _Named.store)


def say(text: str, *, as_it_is: bool = False) -> None:
    """A sentence for the person at the keyboard; never mixed with data.

    A name in it may come from another machine, so it is made safe here and not by each who has one to tell.
    `as_it_is`: it quotes what is somebody else's, in which no command is ours.
    """
    is_sentence = "\n" not in text.strip("\n")
    if is_sentence and not as_it_is:
        text = pasteable(text)
    text = text if text.isascii() and text.isprintable() else clean_lines(text)
    sys.stderr.write((in_lines(text) if is_sentence else text) + "\n")


def in_lines(text: str, *, indent: int = 2) -> str:
    """What goes to stderr, as wide as the screen if it is one; what follows the first line is indented."""
    if not is_terminal(sys.stderr) or len(text) < (width := _screen_width(sys.stderr)):
        return text
    from queuectl.cli.fitting import wrapped

    return wrapped(text, width, indent + len(text) - len(text.lstrip(" ")))


def bold(text: str) -> str:
    """A heading, on a terminal."""
    return f"\x1b[1m{text}\x1b[0m" if text and colours() else text


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


def print_table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    state_column: int = -1,
    spare: Sequence[str] = (),
    vital: Sequence[str] = (),
    flowing: bool = False,
) -> None:
    """Aligned columns; what does not fit the screen is cut or left out on a terminal, and never in a pipe.

    `spare` are the titles of columns that can best be missed, the first one first; `vital` of those that say
    more than these even if all is zero. `flowing`: the last column is prose, in as many lines as it needs.
    Rows are printed in batches, so a million of them need no memory; columns only ever widen.
    """
    source = iter(rows)
    if is_terminal():
        _print_fitted(header, source, state_column, spare, vital, flowing=flowing)
        return
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
    for number, line in enumerate(lines):
        cells = [cell.ljust(width) for cell, width in zip(line[:-1], widths[:-1], strict=True)]
        if number >= titles and 0 <= state_column < len(cells):
            cells[state_column] = paint(cells[state_column], line[state_column])
        sys.stdout.write("  ".join([*cells, line[-1]]).rstrip() + "\n")


def _print_fitted(
    header: Sequence[str],
    source: Iterable[Sequence[str]],
    state_column: int,
    spare: Sequence[str],
    vital: Sequence[str],
    *,
    flowing: bool,
) -> None:
    """The first rows decide how wide the columns are: more of them than that nobody sees at once."""
    from queuectl.cli.fitting import cut, fit, wrapped

    rows = ([clean(cell) for cell in row] for row in source)
    first = list(islice(rows, _TABLE_BATCH))
    columns = fit(header, first, _screen_width(), spare, vital)
    last, room = columns[-1]
    before = sum(width + 2 for _, width in columns[:-1])
    sys.stdout.write("  ".join(cut(header[c], width) for c, width in columns).rstrip() + "\n")
    for row in chain(first, rows):
        more: list[str] = []
        if flowing:
            row[last], *more = wrapped(row[last], room, 0).split("\n")
        cells = {c: cut(row[c], width) for c, width in columns}
        if state_column in cells:
            cells[state_column] = paint(cells[state_column], row[state_column])
        sys.stdout.write("  ".join(cells.values()).rstrip() + "\n")
        sys.stdout.writelines(" " * before + cut(line, room).rstrip() + "\n" for line in more)


def print_prose(text: str, *, indent: int = 0) -> None:
    """A sentence on stdout, in lines of whole words on a terminal; what follows the first is indented."""
    if is_terminal() and len(text) >= (width := _screen_width()):
        from queuectl.cli.fitting import wrapped

        text = wrapped(text, width, indent)
    print(text)


def print_facts(facts: Sequence[tuple[str, object]], *, state: str = "", width: int = 0) -> None:
    """`Name: value`, one below the other; on a terminal a long value goes on below itself.

    Without those that say nothing. The one called State is in the colour of the state.
    """
    facts = [(name, value) for name, value in facts if value not in (None, "")]
    width = width or max(len(name) for name, _ in facts) + 2
    for name, value in facts:
        text = clean(str(value))
        if name == "State":
            text = paint(text, state)
        elif is_terminal() and len(text) > (room := max(_screen_width() - width, 20)):
            from queuectl.cli.fitting import wrapped

            text = wrapped(text, room, 0).replace("\n", "\n" + " " * width)
        print(f"{name + ':':<{width}}{text}")


def has_room(line: str) -> bool:
    """Whether the screen is wide enough for it; a pipe always is."""
    return not is_terminal() or len(line) <= _screen_width()


def fitted(text: str, *, beside: str) -> str:
    """The end of a line, cut on a terminal to what is left of the screen, and never in a pipe."""
    if not is_terminal() or not text:
        return text
    from queuectl.cli.fitting import cells, cut, without_colours

    room = max(1, _screen_width() - cells(without_colours(beside)))
    return cut(text, room) if cells(text) > room else text


def _screen_width(stream: object = None) -> int:
    try:
        return os.get_terminal_size(2 if stream is sys.stderr else 1).columns or 80
    except OSError:
        return 80


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def somebody_is_there() -> bool:
    """Whether a person reads what we say and can answer: no script, no pipe."""
    return is_terminal(sys.stdin) and is_terminal(sys.stderr)


def confirm(question: str, *, yes: bool) -> bool:
    """Ask on a terminal; elsewhere only an explicit --yes will do."""
    if yes:
        return True
    if not somebody_is_there():
        from queuectl.errors import Refused

        raise Refused(question, "add --yes to go ahead")
    sys.stderr.write(in_lines(f"{question} [y/N]") + " ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")

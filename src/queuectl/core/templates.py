"""The command of `map` for each input: GNU parallel's replacement strings, read once, filled in often.

In a shell line a value is quoted as its place there needs it; in an argument list it goes in as it
is. Where the inputs come from is left to `inputs`, quoting to `shellquoting`, what a command may hold to
`fields`.
"""

from __future__ import annotations

import re

from queuectl.core.shellquoting import QUOTES, places
from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Fill = Callable[[Sequence[str], int], str]
    FillWords = Callable[[Sequence[str], int], list[str]]

__all__ = ["DEFAULT_REPLACEMENT", "Template", "compile_template"]

DEFAULT_REPLACEMENT = "{}"

# Text, not compiled: `re` compiles each at its first use, so importing costs nothing.
_BRACES = r"(?<![\\$])\{([^{}]*)\}"  # never ${…}, which is the shell's, nor \{…}
_COLUMN = r"(.+?)(//|/\.|/|\.|)"
_POSITION = r"-?[0-9]{1,9}"
_NAME = r"[^\W\d]\w*"


class Template:
    """A command with its replacement strings found and checked, for rows of `columns` values."""

    __slots__ = ("_fill", "columns")

    def __init__(self, columns: int, fill: Fill | FillWords) -> None:
        self.columns = columns
        self._fill = fill

    def render(self, row: Sequence[str], number: int) -> str | list[str]:
        """The command for one input: a shell line or an argument list, as the template was one."""
        if len(row) != self.columns:
            raise InvalidInput(
                f"input {number} has {_counted(len(row))}, not {self.columns}",
                "give every line the same number of columns, or another --colsep",
            )
        return self._fill(row, number)


def compile_template(
    template: str | list[str],
    columns: int,
    header: tuple[str, ...] = (),
    *,
    replacement: str = DEFAULT_REPLACEMENT,
) -> Template:
    """Reads the replacement strings of a command; `replacement` stands for `{}`, as with `-I`.

    Where there are none, the values are appended.
    """
    if not replacement:
        raise InvalidInput("the replacement string of -I is empty", "like -I ,,")
    if header and len(header) != columns:
        raise InvalidInput(
            f"the header names {_counted(len(header))}, the input has {columns}",
            "give every line as many columns as the header",
        )
    if not (template.strip() if isinstance(template, str) else template):
        raise InvalidInput(
            "map needs a command before its inputs",
            "like map 'gzip {}' ::: a b; a file of whole commands is for enqueue --lines --file",
        )
    parser = _Parser(columns, header, replacement)
    if isinstance(template, str):
        return Template(columns, _shell_line(template, parser))
    return Template(columns, _argument_list(template, parser))


def _counted(columns: int) -> str:
    return "1 column" if columns == 1 else f"{columns} columns"


# --- Finding the replacement strings


class _Slot:
    """A replacement string: what it takes (`change`) of which column. None: of all of them."""

    __slots__ = ("change", "column", "text")

    def __init__(self, text: str, column: int | None, change: str) -> None:
        self.text = text
        self.column = column
        self.change = change


class _Parser:
    """Splits text at its replacement strings: n + 1 texts around n slots."""

    __slots__ = ("columns", "header", "replacement")

    def __init__(self, columns: int, header: tuple[str, ...], replacement: str) -> None:
        self.columns = columns
        self.header = header
        self.replacement = replacement

    def all_columns(self, text: str, change: str = "") -> _Slot:
        return _Slot(text, 0 if self.columns == 1 else None, change)

    def parse(self, text: str) -> tuple[list[str], list[_Slot]]:
        if self.replacement == DEFAULT_REPLACEMENT:
            return self._parse_braces(text)
        first, *rest = text.split(self.replacement)
        texts, slots = self._parse_braces(first)
        for part in rest:
            more_texts, more_slots = self._parse_braces(part)
            texts += more_texts
            slots += [self.all_columns(self.replacement), *more_slots]
        return texts, slots

    def _parse_braces(self, text: str) -> tuple[list[str], list[_Slot]]:
        texts, slots, end = [], [], 0
        for match in re.finditer(_BRACES, text):
            if slot := self._slot(match[0], match[1]):
                texts.append(text[end : match.start()])
                slots.append(slot)
                end = match.end()
        return [*texts, text[end:]], slots

    def _slot(self, text: str, inner: str) -> _Slot | None:
        """What the braces ask for; None if they are nothing of ours and stay as they are."""
        if not inner and self.replacement != DEFAULT_REPLACEMENT:
            return None
        if inner in _CHANGES:
            return self.all_columns(text, inner)
        if inner == "#":
            return _Slot(text, None, "#")
        if inner == "%":
            raise InvalidInput(f"{text} is not supported", "a durable job has no slot; {#} is its number")
        if re.fullmatch("=.+=", inner):
            raise InvalidInput(
                f"{text} is not supported", "Perl is not run here; change the value in the shell"
            )
        if inner in self.header:
            return _Slot(text, self._named(text, inner), "")
        return self._one_column(text, inner)

    def _one_column(self, text: str, inner: str) -> _Slot | None:
        match = re.fullmatch(_COLUMN, inner)
        if not match:
            return None
        column, change = match.groups()
        if column in self.header:
            return _Slot(text, self._named(text, column), change)
        if re.fullmatch(_POSITION, column):
            return _Slot(text, self._position(text, int(column)), change)
        if self.header and re.fullmatch(_NAME, column):
            raise self._unknown(text, column)
        return None

    def _named(self, text: str, name: str) -> int:
        if self.header.count(name) > 1:
            raise InvalidInput(f"{text}: the header has several columns {name!r}", "write its number: {1}")
        return self.header.index(name)

    def _position(self, text: str, position: int) -> int:
        if not 1 <= abs(position) <= self.columns:
            raise InvalidInput(
                f"the command asks for {text}, but the input has {_counted(self.columns)}",
                f"columns count from {{1}}; a repetition in a pattern is also {{{position},{position}}}",
            )
        return position - 1 if position > 0 else self.columns + position

    def _unknown(self, text: str, name: str) -> InvalidInput:
        from difflib import get_close_matches

        near = get_close_matches(name, self.header, 1)
        known = f"did you mean {{{near[0]}}}?" if near else f"the header has {', '.join(self.header)};"
        return InvalidInput(
            f"the command asks for {text}, but no column has this name",
            f"{known} Shell text gets a blank inside its braces: {{ {name} }}",
        )


# --- Filling them in


def _basename(path: str) -> str:
    return path[path.rfind("/") + 1 :]


def _dirname(path: str) -> str:
    head, slash, _ = path.rstrip("/").rpartition("/")
    if slash:
        return head.rstrip("/") or "/"
    return "/" if path.startswith("/") else "."


def _without_extension(path: str) -> str:
    dot = path.rfind(".")
    return path[:dot] if dot > path.rfind("/") else path


_CHANGES: dict[str, Callable[[str], str]] = {
    "": str,
    ".": _without_extension,
    "/": _basename,
    "//": _dirname,
    "/.": lambda path: _without_extension(_basename(path)),
}


def _fill(slot: _Slot, quote: Callable[[str], str]) -> Fill:
    if slot.change == "#":
        return lambda _, number: str(number)
    change, column = _CHANGES[slot.change], slot.column
    if column is None:
        return lambda row, _: " ".join([quote(change(value)) for value in row])
    return lambda row, _: quote(change(row[column]))


def _joined(texts: list[str], fills: list[Fill]) -> Fill:
    line = "%s".join([text.replace("%", "%%") for text in texts])
    return lambda row, number: line % tuple([fill(row, number) for fill in fills])


def _shell_line(template: str, parser: _Parser) -> Fill:
    if "\0" in template:
        raise InvalidInput("the command contains a NUL byte", "no program can be given one")
    texts, slots = parser.parse(template)
    if not slots:
        texts, slots = [template.rstrip("\n") + " ", ""], [parser.all_columns(parser.replacement)]
    found = places("\0".join(texts), [slot.text for slot in slots])
    fills = [_fill(slot, QUOTES[place]) for slot, place in zip(slots, found, strict=True)]
    return _joined(texts, fills)


def _argument_list(template: list[str], parser: _Parser) -> FillWords:
    parsed = [parser.parse(word) for word in template]
    if not any(slots for _, slots in parsed):
        parsed.append((["", ""], [parser.all_columns(parser.replacement)]))
    words = [_argument(texts, slots) for texts, slots in parsed]

    def fill(row: Sequence[str], number: int) -> list[str]:
        arguments: list[str] = []
        for word in words:
            arguments += word(row, number)
        return arguments

    return fill


def _argument(texts: list[str], slots: list[_Slot]) -> FillWords:
    """One word stays one argument, but a bare `{}` for several columns is an argument for each."""
    if not slots:
        return lambda _, __: texts
    if texts == ["", ""] and slots[0].column is None and slots[0].change != "#":
        change = _CHANGES[slots[0].change]
        return lambda row, _: [change(value) for value in row]
    fill = _joined(texts, [_fill(slot, str) for slot in slots])
    return lambda row, number: [fill(row, number)]

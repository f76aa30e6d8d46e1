"""A table that has to fit a screen: what says nothing goes first, then long cells are cut, then columns go.

Loaded only on a terminal. In a pipe nothing is ever cut or left out: see `output`.
"""

from __future__ import annotations

import re
import unicodedata

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_GAP = 2
_SAYS_NOTHING = frozenset(("", "0", "-"))
# A cell keeps at least so much of itself, the last one of a row a little less.
_LONG = 24
_LEAST = 12
_LEAST_OF_THE_LAST = 8

_QUOTED = r"""'[^']*'|"[^"]*\""""
# To where the sentence goes on: "queuectl list shows the jobs", "queuectl wait a, or cancel it".
_COMMAND = (
    r"(?<![\w./-])(?:queuectl|sudo|chmod|chown|fuser) "
    rf"(?:{_QUOTED}|(?! (?:shows|lists|makes|writes|tells|frees|takes)\b)(?![,;.)](?: |$))[^'\"]|['\"])+"
)


def fit(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    screen: int,
    spare: Sequence[str] = (),
    vital: Sequence[str] = (),
) -> list[tuple[int, int]]:
    """Which columns are shown, and how wide each.

    `spare` are the titles of those that can best be missed, `vital` of those in which even a zero says more.
    """
    columns = range(len(header))
    widths = {c: max(cells(line[c]) for line in (header, *rows)) for c in columns}
    empty = [c for c in reversed(columns[1:]) if all(row[c] in _SAYS_NOTHING for row in rows)]
    missed = [header.index(title) for title in spare if title in header]
    first = [c for c in empty if header[c] not in vital]
    for column in dict.fromkeys([*first, *missed, *empty]):
        if _fits(widths, screen):
            break
        del widths[column]
    _narrow(widths, screen)
    for column in [c for c in reversed(columns[1:]) if c in widths]:
        if _total(widths) <= screen:
            break
        del widths[column]
    return list(widths.items())


def cut(text: str, width: int) -> str:
    """The text in exactly so many cells of a terminal, with … where it was cut."""
    used = cells(text)
    if used <= width:
        return text + " " * (width - used)
    kept = text
    while kept and cells(kept) > width - 1:
        kept = kept[: len(kept) - max(1, (cells(kept) - width) // 2)]
    return kept + "…" + " " * (width - 1 - cells(kept))


def without_colours(text: str) -> str:
    """As it is seen: the codes that `paint` puts around a word take no room."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def wrapped(text: str, screen: int, indent: int) -> str:
    """A sentence in lines of whole words; a word that is longer than a line is left to the terminal.

    A command in it, which somebody may want to paste, stays in one line if it can. Blanks stay as they are.
    """
    lines, line, spaces = [], "", ""
    for piece in _pieces(text, screen - indent):
        word = piece.lstrip(" ")
        spaces = piece[: len(piece) - len(word)]
        if line.strip() and _seen(line) + len(spaces) + _seen(word) > screen:
            lines.append(line)
            line, spaces = " " * indent, ""
        line += spaces + word
    return "\n".join([*lines, line])


def _pieces(text: str, room: int) -> Iterator[str]:
    """What is not broken, each with the blanks before it: words, and commands that have room in a line."""
    glued = ""
    for found in re.finditer(rf" *(?:({_COMMAND})|[^ ]+?(?={_COMMAND})|[^ ]+)", text.rstrip(" ")):
        piece, command = found[0], found[1]
        if not piece.startswith(" "):  # a comma after a command, a bracket before it
            glued += piece
            continue
        if glued:
            yield glued
        glued = piece
        if command and _seen(command) > room:
            *words, glued = re.findall(rf" *(?:{_QUOTED}|[^ ])+", piece)
            yield from words
    if glued:
        yield glued


def _seen(text: str) -> int:
    return cells(without_colours(text))


def cells(text: str) -> int:
    """How many cells of a terminal it takes: some characters take two, some none."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) != 0 for c in text)


def _total(widths: dict[int, int]) -> int:
    return sum(widths.values()) + _GAP * (len(widths) - 1)


def _fits(widths: dict[int, int], screen: int) -> bool:
    """As it is, or with a last column that is cut and still says something."""
    last = list(widths)[-1]
    return _total(widths) - max(0, widths[last] - _LONG) <= screen


def _narrow(widths: dict[int, int], screen: int) -> None:
    """Take from what is long; then from the last column, which holds what can be cut best; then from all."""
    last = list(widths)[-1]
    for columns, least in ((list(widths), _LONG), ([last], _LEAST_OF_THE_LAST), (list(widths), _LEAST)):
        while (excess := _total(widths) - screen) > 0:
            column = max(columns, key=lambda c: widths[c])
            if widths[column] <= least:
                break
            # By halves, so that columns of the same length stay alike.
            widths[column] -= min(widths[column] - least, (excess + 1) // 2)

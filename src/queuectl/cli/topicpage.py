"""Topics of `queuectl help`: a text file each in `topics/`, laid out for the width of the screen.

A file begins with the line that says what it is about. In the rest, lines that belong together are one
paragraph, or one point of a list (`- `); lines that begin with a space stay as they are; a line
`LEFT → RIGHT` is a row of a table, in which commands are never broken.
"""

from __future__ import annotations

import os
from textwrap import wrap

from queuectl.cli.output import bold

_FOLDER = os.path.join(os.path.dirname(__file__), "topics")
_ENDING = ".txt"
_ARROW = " → "
_WIDEST_LEFT = 38
_WIDEST_TEXT = 100  # longer lines are hard to read
_GAP = 2
_NARROWEST = 24  # a second column with less room is none


def topic_names() -> list[str]:
    return sorted(name.removesuffix(_ENDING) for name in os.listdir(_FOLDER) if name.endswith(_ENDING))


def topic_about(name: str) -> str:
    return topic_source(name).partition("\n")[0]


def topic_source(name: str) -> str:
    """The text of a topic as it stands in its file."""
    with open(os.path.join(_FOLDER, name + _ENDING), encoding="utf-8") as file:
        return file.read()


def topic_page(name: str, width: int) -> str:
    """The whole topic, for a screen of this width."""
    title, _, body = topic_source(name).partition("\n")
    room = min(width, _WIDEST_TEXT)
    lines = [bold(line) for line in wrapped(title, room)]
    for block in body.strip("\n").split("\n\n"):
        lines += ["", *_laid_out(block.split("\n"), room)]
    return "\n".join(lines)


def wrapped(text: str, width: int, *, hanging: int = 0) -> list[str]:
    """One paragraph; `hanging`: all lines but the first stand so far to the right."""
    return wrap(
        text, width, subsequent_indent=" " * hanging, break_long_words=False, break_on_hyphens=False
    ) or [""]


def _laid_out(lines: list[str], width: int) -> list[str]:
    if all(_ARROW in line for line in lines):
        return _table([line.split(_ARROW, 1) for line in lines], width)
    result: list[str] = []
    paragraph: list[str] = []

    def finish() -> None:
        if paragraph:
            hanging = 2 if paragraph[0].startswith("- ") else 0
            result.extend(wrapped(" ".join(paragraph), width, hanging=hanging))
            paragraph.clear()

    for line in lines:
        if line.startswith("   ") or (line.startswith("  ") and not (paragraph and paragraph[0][0] == "-")):
            finish()
            result.append(line)
            continue
        if line.startswith("- "):
            finish()
        paragraph.append(line.strip())
    finish()
    return result


def _table(rows: list[list[str]], width: int) -> list[str]:
    """Two columns; or, where many rows have no room for that, the second part of each below the first."""
    pairs = [(left.strip(), right.strip()) for left, right in rows]
    beside = min(max(len(left) for left, _ in pairs), _WIDEST_LEFT)
    room = width - 2 - beside - _GAP
    tight = [left for left, right in pairs if len(left) > beside or (_is_typed(right) and len(right) > room)]
    if room < _NARROWEST or len(tight) * 4 > len(pairs):
        return [line for left, right in pairs for line in _below(left, right, width)]
    lines: list[str] = []
    for left, right in pairs:
        if left in tight:
            lines += _below(left, right, width)
            continue
        first, *others = [right] if _is_typed(right) else wrapped(right, room)
        lines.append(f"  {left:<{beside}}{' ' * _GAP}{first}")
        lines += [" " * (2 + beside + _GAP) + line for line in others]
    return lines


def _below(left: str, right: str, width: int) -> list[str]:
    lines = [right] if _is_typed(right) else wrapped(right, width - 6)
    return [f"  {left}", *(f"      {line}" for line in lines)]


def _is_typed(text: str) -> bool:
    """What is typed stays on one line, to be copied."""
    return "queuectl " in text

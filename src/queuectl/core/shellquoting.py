"""Where a value stands in a shell line, and how it is quoted there, so that it stays one harmless word.

What stands there is left to `templates`.
"""

from __future__ import annotations

import re

from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["QUOTES", "places"]

_SAFE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-")
_ESCAPED = str.maketrans({character: "\\" + character for character in '\\"$`'})


def _in_single_quotes(value: str) -> str:
    return value.replace("'", "'\"'\"'")


def _in_double_quotes(value: str) -> str:
    return value.translate(_ESCAPED)


def _quoted(value: str) -> str:
    if value and _SAFE.issuperset(value):
        return value
    return f"'{_in_single_quotes(value)}'"


QUOTES = {"": _quoted, "'": _in_single_quotes, '"': _in_double_quotes}

# What the shell reads next, by the token that opened the place where it is. NUL marks a slot.
_VARIABLE = r"\$\{(?:[^{}'\"`$\\\0]|\$(?![({'\"\0])|\\[^{}'\"\0])*\}|\$\{"  # whole if it is a simple one
_ANYWHERE = rf"\\[^\0]|\$\$|[\\$]\0|{_VARIABLE}|\$\(|[\"`\0]"
_IN_PLAIN = rf"{_ANYWHERE}|\$'|[()']|(?<![^\s;|&()])#|(?<!<)<<(?!<)-?\s*['\"\\A-Za-z_]|\bcase\b"
_IN_QUOTES = {
    "'": r"['\0]",
    '"': _ANYWHERE,
    "${": rf"{_ANYWHERE}|\$'|['}}]",
    "`": r"\\[^\0]|[`\0]",
    "$'": r"\\[^\0]|['\0]",
    "#": r"[\n\0]",
}
_CLOSED_BY = {"'": "'", '"': '"', "`": "`", "$'": "'", "#": "\n", "(": ")", "$(": ")", "${": "}"}
_NO_PLACE = {
    "\\": "behind a backslash",
    "$": "behind a $",
    "`": "in backticks",
    "$'": "in $'…'",
    "#": "in a comment",
}


def places(line: str, slots: Sequence[str]) -> list[str]:
    """The quotes around each slot: '' (none), "'" or '"'. In the line a NUL stands for each of `slots`.

    People write "{}" as well as {}: a value quoted for the wrong place would end the quotes, and
    the rest of a file name would run as a command. So a place that we cannot judge is refused.
    """
    found: list[str] = []
    opened = [""]
    at = 0
    while match := re.compile(_IN_QUOTES.get(opened[-1], _IN_PLAIN)).search(line, at):
        token, at, inside = match[0], match.end(), opened[-1]
        if token[-1] == "\0":
            _check_place(slots[len(found)], inside if token == "\0" else token[0])
            found.append(inside if inside in QUOTES else "")
        elif token == _CLOSED_BY.get(inside):
            opened.pop()
        elif _is_beyond_us(token, opened):
            if len(found) < len(slots):
                raise _refused(slots[len(found)], f"after {token}")
            return found
        elif token in _CLOSED_BY:
            opened.append(token)
    if opened[-1] in _IN_QUOTES and opened[-1] != "#":
        raise InvalidInput(f"the command has a {opened[-1]} that is not closed", "check its quotes")
    return found


def _is_beyond_us(token: str, opened: list[str]) -> bool:
    """A here-document has its own rules, and so have "${x:-…}" and the `)` of a case in "$(…)".

    And shells disagree on where $'\\'' ends.
    """
    if token == "${":
        return opened[-1] == '"'
    if token == "\\'":
        return opened[-1] == "$'"
    return token.startswith("<<") or (token == "case" and '"' in opened)


def _check_place(slot: str, place: str) -> None:
    if place in _NO_PLACE:
        raise _refused(slot, _NO_PLACE[place])


def _refused(slot: str, where: str) -> InvalidInput:
    return InvalidInput(
        f"{slot} stands {where}, where a value cannot be quoted safely",
        f"move it, or put the command into a script and write: ./script {slot}",
    )

"""Words as systemd reads them in a unit: what would be a specifier, a variable or the end of a word is not.

Which words a unit has is left to `unit`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
# With none of these a word is plain, and easier to read without quotes.
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@^~")


def command_line(words: Sequence[str]) -> str:
    """For ExecStart. The program itself is no place for variables, so a `$` there stands for itself."""
    program, *rest = words
    return " ".join([quoted(program), *(quoted(word.replace("$", "$$")) for word in rest)])


def quoted(word: str) -> str:
    """One word of a list, as in Environment."""
    text = "".join(_ESCAPES.get(character, character) for character in specifier_free(word))
    # "%%" is plain too, but a quoted word tells a reader that there is something to look at.
    return text if word and _PLAIN.issuperset(word) else f'"{text}"'


def specifier_free(text: str) -> str:
    """For values that are taken as they stand, like WorkingDirectory and Description."""
    return text.replace("%", "%%")


def environment_line(name: str, value: str) -> str:
    """A line of an EnvironmentFile, where there are neither specifiers nor variables."""
    for character in '\\"`$':
        value = value.replace(character, "\\" + character)
    return f'{name}="{value}"\n'

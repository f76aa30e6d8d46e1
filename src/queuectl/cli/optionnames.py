"""What is wrong with a field, told to somebody who typed an option: --at, not run_at.

The checks know fields only, since most ways into the queue have no options. Which values are wrong is left
to them; here their words are changed, in the one place where options become fields.
"""

from __future__ import annotations

import re

from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection

_OTHERWISE = {"run_at": "--at", "tags": "--tag", "input": "--stdin", "timeout_percent": "--timeout"}
# What somebody typed is quoted in a message, and stays as it is.
_QUOTED = r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""


def option_of(field: str) -> str:
    return _OTHERWISE.get(field) or "--" + field.replace("_", "-")


def given_options(options: argparse.Namespace, fields: Collection[str]) -> set[str]:
    """Of these fields, the ones that came as options."""
    given = {name for name in fields if getattr(options, name, None) is not None}
    if getattr(options, "stdin", None) is not None:
        given.add("input")
    return given


def speak_of_options(error: InvalidInput, given: Collection[str], elsewhere: Collection[str] = ()) -> None:
    """Name the options in place of the fields that came by them; those of `elsewhere` came as JSON."""
    if not any(field in given for field in error.fields):
        return
    before = error.message
    for field in error.fields:
        if field in given or field not in elsewhere:
            error.message = _renamed(error.message, field)
            if error.hint is not None:
                error.hint = _renamed(re.sub(rf"\b{field}: ", f"{field} ", error.hint), field)
    if error.message == before and error.fields != ("command",):
        error.message = f"{option_of(error.fields[0])}: {before}"


def _renamed(text: str, field: str) -> str:
    """The name of the field as a word of its own; after an article it is only a word of the sentence."""
    word = rf"(?<![\w-])(?<!the )(?<!an )(?<!a )(?<!\d ){field}(?![\w-])(?! name)"
    parts = re.split(_QUOTED, text)
    parts[::2] = [re.sub(word, option_of(field), part) for part in parts[::2]]
    return "".join(parts)

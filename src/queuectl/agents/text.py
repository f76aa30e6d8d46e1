"""Text from jobs as an agent may read it: bounded, and without what steers a terminal.

Which characters do that is left to `clean`, which the command line brings along.
"""

from __future__ import annotations

import re
from collections.abc import Callable

Clean = Callable[[str], str]

# Colours, titles and moves of the cursor say nothing to who reads text: they go, not their escaped form.
_TERMINAL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])")
_OVERWRITTEN = re.compile(r"[^\n]*\r(?!\n|$)", re.MULTILINE)

LONGEST_TEXT = 4_000  # characters of one text in a document, such as a command
_DEEPEST = 6


def plain_output(text: str, clean: Clean) -> str:
    """What somebody would have seen in the end: a progress bar is its last state."""
    text = _TERMINAL.sub("", text).replace("\r\n", "\n")
    return clean(_OVERWRITTEN.sub("", text).replace("\r", ""))


def plain_document(value: object, clean: Clean, *, depth: int = 0) -> object:
    """The same for every text of a document, each cut to its bound; what is not set is left out."""
    if isinstance(value, str):
        return clean(shortened(value))
    if depth > _DEEPEST:
        return None
    if isinstance(value, dict):
        return {
            clean(str(name)): plain_document(one, clean, depth=depth + 1)
            for name, one in value.items()
            if one is not None and (depth == 0 or (one != [] and one != {}))
        }
    if isinstance(value, list | tuple):
        return [plain_document(one, clean, depth=depth + 1) for one in value]
    return value


def shortened(text: str, most: int = LONGEST_TEXT) -> str:
    if len(text) <= most:
        return text
    return f"{text[:most]}… ({len(text) - most:,} more characters)"

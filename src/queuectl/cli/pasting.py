"""Sentences that name commands, as they can be pasted: for the store that --db has named.

Loaded only if it has named one. Which one that is, is kept by `output`.
"""

from __future__ import annotations

import re

from queuectl.cli.main import COMMANDS
from queuectl.errors import QueuectlError

__all__ = ["as_typed", "for_store"]

# They need no store, or not the one that this command was for: a sentence that speaks of `copy` or `export`
# is about a queue that lies somewhere else.
_OF_NO_STORE = ("help", "demo", "completion", "copy", "export")
_NAMES = "|".join(sorted((name for name in COMMANDS if name not in _OF_NO_STORE), key=len, reverse=True))
# Not in a path, not in "a file that queuectl backup has made", and not where help is all that is asked for.
_COMMAND = rf"(?<![\w./-])(?<!that )queuectl (?=(?:{_NAMES})(?![\w-])(?!(?: [\w-]+)?? --help\b))"


def for_store(text: str, named: str) -> str:
    """The sentence, with the store in each command that it names."""
    try:
        option = as_typed(named)
    except QueuectlError:  # the error that is about to be told
        return text
    return re.sub(_COMMAND, lambda found: found[0] + option, text)


def as_typed(named: str) -> str:
    """`--db X `. A server's address without its password: who has typed one does not want to see it again."""
    from shlex import quote

    if "://" in named:
        from queuectl.address import Address, is_server

        if is_server(named):
            named = Address(named).shown
    return f"--db {quote(named)} "

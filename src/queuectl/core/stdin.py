"""What a command reads: text that is stored with its job.

Reading it from a file is left to the command line, giving it to the command to the worker.
"""

from __future__ import annotations

from queuectl.core.fields import kind_of
from queuectl.errors import InvalidInput

MAX_BYTES = 1_000_000


def check_input(value: object) -> str:
    """The text, if every store can hold it."""
    if not isinstance(value, str):
        raise InvalidInput(f"input must be text, not {kind_of(value)}", 'like "some lines"')
    if "\0" in value:
        raise InvalidInput("input contains a NUL byte", "let the command read a file: 'wc -c < FILE'")
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise InvalidInput("input contains a lone surrogate, which is not text", "use valid UTF-8") from None
    if size > MAX_BYTES:
        raise InvalidInput(
            f"input is {size:,} bytes long; at most {MAX_BYTES:,} are stored",
            "let the command read a file: 'sort < FILE'",
        )
    return value

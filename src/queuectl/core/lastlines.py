"""The last lines that a command wrote to stderr, out of the pieces of its output: few, short, colourless.

Characters that steer a terminal are left to whoever shows them.
"""

from __future__ import annotations

import re

from queuectl.core.chunks import STDERR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from queuectl.core.chunks import Chunk

MOST_LINES = 5
LONGEST_LINE = 300  # characters
_KEPT = 16_384  # bytes at the end: more than the lines can take
_COLOURS = r"\x1b\[[0-9;]*[A-Za-z]"


def last_lines(chunks: Iterable[Chunk]) -> list[str]:
    """Blank ones are left out; of a line that was written over again and again, the last state."""
    end = b""
    for chunk in chunks:
        if chunk.stream == STDERR:
            end = (end + chunk.data)[-_KEPT:]
    text = re.sub(_COLOURS, "", end.decode("utf-8", "backslashreplace"))
    lines = [line.rstrip("\r").rpartition("\r")[2].strip() for line in text.split("\n")]
    return [_cut(line) for line in lines if line][-MOST_LINES:]


def _cut(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - 1] + "…"

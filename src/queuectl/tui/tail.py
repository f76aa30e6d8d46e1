"""The last lines of an output, made of pieces as they come: harmless text, stderr marked."""

from __future__ import annotations

import codecs
import re
from collections import deque

from queuectl.core.chunks import GAP, STDERR, STDOUT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from queuectl.core.chunks import Chunk

    Line = tuple[int, str]  # the stream (or GAP), and text that can be shown as it is

__all__ = ["MOST_LINES", "Tail"]

MOST_LINES = 500
_LONGEST_LINE = 2_000  # characters; the rest of a longer one is not shown
# A lone carriage return ends a line too: so a progress bar is readable, and nothing can hide behind one.
_LINE_END = re.compile(r"\r\n|\n|\r(?!\n|$)")


class Tail:
    """Knows the last lines only, however much there was."""

    __slots__ = ("_clean", "_decoders", "_lines", "_open")

    def __init__(self, clean: Callable[[str], str]) -> None:
        self._clean = clean
        self._lines: deque[Line] = deque(maxlen=MOST_LINES)
        self._open = {STDOUT: "", STDERR: ""}  # lines that have not ended yet
        self._decoders = {
            stream: codecs.getincrementaldecoder("utf-8")("backslashreplace") for stream in self._open
        }

    def feed(self, chunks: Iterable[Chunk]) -> bool:
        """Whether anything came."""
        came = False
        for chunk in chunks:
            came = True
            if chunk.stream == GAP:
                size = f"{int(chunk.data):,} bytes" if chunk.data.isdigit() else "output"
                self._lines.append((GAP, f"[… {size} left out …]"))
            elif chunk.stream in self._open:
                self._add(chunk.stream, chunk.data)
        return came

    def _add(self, stream: int, data: bytes) -> None:
        *ended, rest = _LINE_END.split(self._open[stream] + self._decoders[stream].decode(data))
        self._lines.extend((stream, self._shown(line)) for line in ended[-MOST_LINES:])
        # What is not shown need not be kept; what comes after it ends up behind the cut all the same.
        self._open[stream] = rest[: _LONGEST_LINE + 1]

    def lines(self) -> list[Line]:
        unended = [(stream, self._shown(rest)) for stream, rest in self._open.items() if rest]
        return [*self._lines, *unended][-MOST_LINES:]

    def _shown(self, line: str) -> str:
        short = line[:_LONGEST_LINE].rstrip("\r").expandtabs()
        return self._clean(short) + ("…" if len(line) > _LONGEST_LINE else "")

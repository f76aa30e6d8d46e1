"""Output of jobs on our stdout and stderr: untouched in a pipe, harmless text on a terminal.

Where the output comes from is left to `follow`.
"""

from __future__ import annotations

import codecs
import sys

from queuectl.cli.output import clean_lines, is_terminal, say
from queuectl.core.chunks import GAP, STDERR, STDOUT, Chunk
from queuectl.core.times import iso

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO


class LogView:
    """Puts pieces of output where they belong. `only` selects one stream, which goes to stdout."""

    __slots__ = ("_channels", "_only", "_started_at", "_timestamps")

    def __init__(self, *, only: int | None = None, raw: bool = False, timestamps: bool = False) -> None:
        self._only = only
        self._timestamps = timestamps
        self._started_at = 0
        stderr = sys.stdout if only == STDERR else sys.stderr
        self._channels = {
            STDOUT: _Channel(sys.stdout, raw=raw),
            STDERR: _Channel(stderr, raw=raw),
        }

    def begin(self, started_at: int | None) -> None:
        """From now on it is the output of an attempt that started then."""
        self.end()
        self._started_at = started_at or 0

    def write(self, chunk: Chunk) -> None:
        if chunk.stream == GAP:
            self.end()
            say(gap_text(chunk))
        elif self._only in (None, chunk.stream):
            stamp = iso(self._started_at + chunk.offset_ms) if self._timestamps else None
            self._channels[chunk.stream].write(chunk.data, stamp)

    def end(self) -> None:
        """Bring out what was held back, and leave the cursor of a terminal on a line of its own."""
        for channel in self._channels.values():
            channel.end()


def gap_text(chunk: Chunk) -> str:
    if not chunk.data:
        return "[… output left out …]"
    return f"[… {int(chunk.data):,} bytes left out …]"


class _Channel:
    """One of our two streams."""

    __slots__ = ("_decoder", "_fresh", "_held", "_safe", "_target")

    def __init__(self, target: TextIO, *, raw: bool) -> None:
        self._target = target
        self._safe = is_terminal(target) and not raw
        self._fresh = True  # at the beginning of a line
        self._held = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")

    def write(self, data: bytes, stamp: str | None) -> None:
        if self._safe:
            data = self._harmless(self._held + self._decoder.decode(data)).encode()
        if not data:
            return
        self._put(data if stamp is None else self._stamped(data, stamp.encode() + b" "))
        self._fresh = data.endswith(b"\n")

    def end(self) -> None:
        rest = self._held + self._decoder.decode(b"", final=True)
        self._held = ""
        self._decoder.reset()
        if rest:
            self._put(clean_lines(rest).encode())
            self._fresh = False
        if self._safe and not self._fresh:
            self._put(b"\n")
            self._fresh = True

    def _harmless(self, text: str) -> str:
        # A carriage return could hide what stands before it; before a newline it is a line end.
        self._held = "\r" if text.endswith("\r") else ""
        return clean_lines(text.removesuffix("\r").replace("\r\n", "\n"))

    def _stamped(self, data: bytes, stamp: bytes) -> bytes:
        begin = stamp if self._fresh else b""
        body, last = data[:-1], data[-1:]
        return begin + body.replace(b"\n", b"\n" + stamp) + last

    def _put(self, data: bytes) -> None:
        # Text written before must stay before it, and both streams keep their order.
        self._target.flush()
        self._target.buffer.write(data)
        self._target.buffer.flush()


def last_lines(chunks: list[Chunk], count: int) -> list[Chunk]:
    """The pieces that make up the last lines of the output."""
    if count == 0:
        return []
    kept: list[Chunk] = []
    last = True
    for chunk in reversed(chunks):
        if chunk.stream == GAP:
            kept.append(chunk)
            continue
        # The newline at the very end closes the last line, it does not begin another one.
        end = len(chunk.data) - (1 if last and chunk.data.endswith(b"\n") else 0)
        last = False
        while (end := chunk.data.rfind(b"\n", 0, end)) >= 0:
            count -= 1
            if not count:
                kept.append(Chunk(chunk.stream, chunk.offset_ms, chunk.data[end + 1 :]))
                return kept[::-1]
        kept.append(chunk)
    return kept[::-1]

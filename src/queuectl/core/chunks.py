"""How captured output is packed: pieces of stdout and stderr in order, each with its time.

The same bytes stand in the store (short output) and in a log file (long output), so one reader
does. A piece is a 9-byte head (stream, milliseconds since the start of the attempt, length) and its
data.
"""

from __future__ import annotations

import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

STDOUT = 1
STDERR = 2
GAP = 3  # its data is the decimal number of bytes that were left out here

_HEAD = struct.Struct("<BII")
HEAD_SIZE = _HEAD.size


class Chunk:
    """One piece of output as it was read from the pipe."""

    __slots__ = ("data", "offset_ms", "stream")

    def __init__(self, stream: int, offset_ms: int, data: bytes) -> None:
        self.stream = stream
        self.offset_ms = offset_ms
        self.data = data


def pack(stream: int, offset_ms: int, data: bytes) -> bytes:
    return _HEAD.pack(stream, min(max(offset_ms, 0), 0xFFFFFFFF), len(data)) + data


def unpack(blob: bytes | bytearray | memoryview) -> Iterator[Chunk]:
    """All whole pieces; a piece cut off at the end (a live file) is left for the next call."""
    return _walk(bytes(blob), [0])


def unpack_some(blob: bytes) -> tuple[list[Chunk], int]:
    """The whole pieces and how many bytes they took."""
    used = [0]
    return list(_walk(blob, used)), used[0]


def _walk(blob: bytes, used: list[int]) -> Iterator[Chunk]:
    position, end = 0, len(blob)
    while position + HEAD_SIZE <= end:
        stream, offset_ms, length = _HEAD.unpack_from(blob, position)
        start = position + HEAD_SIZE
        if start + length > end:
            return
        position = start + length
        used[0] = position
        yield Chunk(stream, offset_ms, blob[start:position])

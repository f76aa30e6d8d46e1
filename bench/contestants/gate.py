"""A first command that holds up all the others, until everything is handed in and the clock starts."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType


class Gate:
    """While it is shut, `command` waits. It is opened at the latest at the end of the block."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.command = f"read line < {path} || :"
        os.mkfifo(path)
        # Read and write: opening a FIFO only for writing would wait for the reader.
        self._file = os.open(path, os.O_RDWR)

    def open(self) -> None:
        os.write(self._file, b"\n")

    def __enter__(self) -> Gate:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.open()
        os.close(self._file)

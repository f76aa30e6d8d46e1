"""A wall clock that can be set for single processes, by a library preloaded into them (clock_shim.c)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

_SOURCE = Path(__file__).with_name("clock_shim.c")


def unavailable() -> str:
    """Why clocks cannot be set here; empty if they can."""
    if sys.platform != "linux":
        return "clocks are set by LD_PRELOAD, as on Linux"
    return "" if _compiler() else "there is no C compiler (cc): clocks cannot be set for single processes"


def _compiler() -> str | None:
    return shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


def build(directory: Path) -> Path:
    """The library that makes it possible."""
    library = directory / "clock_shim.so"
    words = [_compiler() or "cc", "-O1", "-shared", "-fPIC", "-o", str(library), str(_SOURCE)]
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL)
    return library


class WallClock:
    """`env` for the processes that shall go by it; `set` makes it jump for all of them at once."""

    def __init__(self, library: Path, file: Path, seconds: int = 0) -> None:
        self._file = file
        self.env = {"LD_PRELOAD": str(library), "CLOCK_OFFSET_FILE": str(file)}
        self.set(seconds)

    def set(self, seconds: int) -> None:
        """So far from the time that it really is; in one step, as the file may be read at any moment."""
        new = self._file.with_suffix(".new")
        new.write_text(str(seconds))
        os.replace(new, self._file)

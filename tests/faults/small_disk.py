"""A disk of a few megabytes that can be filled to the last byte, and given room again."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


class SmallDisk:
    """`fill` takes all that is left, down to the last page; `free` gives it back."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._ballast = directory / "ballast"

    def fill(self, *, but: int = 0) -> None:
        """All of it, or all but some bytes."""
        with open(self._ballast, "ab", buffering=0) as file:
            for size in (65_536, 4_096, 1):
                while _written(file.fileno(), size):
                    pass
            os.truncate(file.fileno(), os.fstat(file.fileno()).st_size - but)

    def free(self) -> None:
        self._ballast.unlink()

    def read_only(self, yes: bool = True) -> None:
        mode = "ro" if yes else "rw"
        subprocess.run(["mount", "-o", f"remount,{mode}", str(self.directory)], check=True)


def _written(fd: int, size: int) -> bool:
    try:
        return os.write(fd, bytes(size)) > 0
    except OSError:
        return False


@contextmanager
def small_disk(directory: Path, *, megabytes: int = 6) -> Iterator[SmallDisk]:
    directory.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(directory)]
    made = subprocess.run(words, capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {made.stderr.strip()}")
    try:
        yield SmallDisk(directory)
    finally:
        subprocess.run(["umount", "-l", str(directory)], check=True)

"""Files without a name that hold some data, for a command to read: gone with the last who has them open."""

from __future__ import annotations

import os


def nameless(name: str, data: bytes) -> int:
    """A descriptor at the beginning of the data. `name` is what tools that list descriptors show."""
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create(name, os.MFD_CLOEXEC)
    else:
        import tempfile

        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    try:
        with open(fd, "wb", closefd=False) as file:
            file.write(data)
        os.lseek(fd, 0, os.SEEK_SET)
    except BaseException:
        os.close(fd)
        raise
    return fd

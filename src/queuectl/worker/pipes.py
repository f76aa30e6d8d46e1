"""The two pipes through which a command's output comes.

Most commands are over before anybody would read from them. So nothing is done that only a reader needs until
there is one: both ends stay ours, and at the end one look tells what is there (docs/adr/0018).
"""

from __future__ import annotations

import os
from array import array
from fcntl import ioctl
from termios import FIONREAD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_count = array("i", [0])


class Pipes:
    """Standard output and standard error of one command, each with its reading and its writing end."""

    __slots__ = ("_writing", "err", "err_read", "out", "out_read")

    def __init__(self) -> None:
        self.out_read, self.out = os.pipe()
        try:
            self.err_read, self.err = os.pipe()
        except OSError:
            os.close(self.out_read)
            os.close(self.out)
            raise
        self._writing = True

    def listen(self) -> None:
        """From now on the end of the command's writing is the end of the pipe: ours must not keep it open."""
        self._writing = False
        os.close(self.out)
        os.close(self.err)

    def close(self, reading: Iterable[int]) -> None:
        """What is left: `reading` are the reading ends that nobody has closed yet."""
        if self._writing and self.err - self.out_read == 3:
            os.closerange(self.out_read, self.err + 1)  # opened in a row: one system call for all
            return
        for fd in reading:
            os.close(fd)
        if self._writing:
            self.listen()


def waiting(fd: int) -> int:
    """How many bytes can be read at once."""
    ioctl(fd, FIONREAD, _count)
    return _count[0]

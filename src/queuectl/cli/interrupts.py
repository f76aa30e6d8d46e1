"""Ctrl+C while something is done that must not be left half way: it waits for the end of that.

Also for imports: a KeyboardInterrupt that comes while Python loads a module may get lost, with nothing but a
remark on stderr (it drops what is raised in its own callbacks), and nobody would know that it was pressed.
"""

from __future__ import annotations

import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType


class InterruptsLater:
    """Raises KeyboardInterrupt at the end of the block if Ctrl+C was pressed in it; twice: at once."""

    __slots__ = ("_old", "_pressed")

    def __enter__(self) -> None:
        self._pressed = False
        self._old = signal.getsignal(signal.SIGINT)
        if self._old is signal.default_int_handler:  # else it is ignored (nohup, &), and stays so
            signal.signal(signal.SIGINT, self._note)

    def _note(self, _signum: int, _frame: FrameType | None) -> None:
        if self._pressed:
            raise KeyboardInterrupt
        self._pressed = True

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self._old is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._old)
        if self._pressed and kind is None:
            raise KeyboardInterrupt

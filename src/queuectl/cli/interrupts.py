"""Ctrl+C while something is done that must not be left half way: it waits for the end of that.

Also for imports: a KeyboardInterrupt that comes while Python loads a module may get lost, with nothing but a
remark on stderr (it drops what is raised in its own callbacks), and nobody would know that it was pressed.
"""

from __future__ import annotations

import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

__all__ = ["InterruptsLater", "TermInterrupts"]


class TermInterrupts:
    """In the block SIGTERM is as good as Ctrl+C: `timeout 10 queuectl run …`."""

    __slots__ = ("_old",)

    def __enter__(self) -> None:
        self._old = signal.getsignal(signal.SIGTERM)
        if self._old is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, signal.default_int_handler)

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self._old is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, self._old)


class InterruptsLater:
    """Raises KeyboardInterrupt at the end of the block if Ctrl+C was pressed in it; twice: at once."""

    __slots__ = ("_heard", "_pressed")

    def __enter__(self) -> None:
        self._pressed = False
        # Else it is ignored (nohup, &), and stays so.
        interrupting = (signal.SIGINT, signal.SIGTERM)
        self._heard = [s for s in interrupting if signal.getsignal(s) is signal.default_int_handler]
        for signum in self._heard:
            signal.signal(signum, self._note)

    def _note(self, _signum: int, _frame: FrameType | None) -> None:
        if self._pressed:
            raise KeyboardInterrupt
        self._pressed = True

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        for signum in self._heard:
            signal.signal(signum, signal.default_int_handler)
        if self._pressed and kind is None:
            raise KeyboardInterrupt

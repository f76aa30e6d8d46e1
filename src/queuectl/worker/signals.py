"""Signals only set flags and wake the loop; the loop acts."""

from __future__ import annotations

import os
import signal

from queuectl import system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType


class Signals:
    """Flags set by signal handlers, and a pipe that wakes whoever waits on `fd`."""

    def __init__(self) -> None:
        self.stops = 0  # how often somebody asked us to stop
        self.retire = False  # somebody else stops our workers: start none any more
        self.child = True  # a child may have ended; True at first, so that nothing is missed
        self.fd, self._writer = os.pipe()
        os.set_blocking(self.fd, False)
        os.set_blocking(self._writer, False)
        self._old_wakeup = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        self._old = {signum: signal.signal(signum, self._stop) for signum in system.STOP_SIGNALS}
        self._old[system.RETIRE_SIGNAL] = signal.signal(system.RETIRE_SIGNAL, self._retire)
        self._old[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, self._child)
        # A handler and not SIG_IGN, which our commands would inherit.
        self._old[signal.SIGHUP] = signal.signal(signal.SIGHUP, self._ignore)
        # A careless parent may have blocked some; we would not hear them, and neither would our commands.
        signal.pthread_sigmask(signal.SIG_SETMASK, ())

    def _stop(self, _signum: int, _frame: FrameType | None) -> None:
        self.stops += 1

    def _retire(self, _signum: int, _frame: FrameType | None) -> None:
        self.retire = True

    def _ignore(self, _signum: int, _frame: FrameType | None) -> None:
        """A closing terminal is no reason to stop."""

    def _child(self, _signum: int, _frame: FrameType | None) -> None:
        self.child = True

    def wake(self) -> None:
        """Wake the loop from another thread."""
        try:
            os.write(self._writer, b"\0")
        except BlockingIOError:
            pass  # full of wake-ups already

    def drain(self) -> None:
        try:
            os.read(self.fd, 4096)
        except BlockingIOError:
            pass

    def let_go(self) -> None:
        """From now on signals do what they did before. Others may still `wake`."""
        for signum, handler in self._old.items():
            signal.signal(signum, handler)
        signal.set_wakeup_fd(self._old_wakeup)

    def close(self) -> None:
        self.let_go()
        os.close(self.fd)
        os.close(self._writer)

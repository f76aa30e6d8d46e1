"""Who carries an exchange to the store and brings the answer back: one at a time.

A file answers within a millisecond or two, so the loop goes itself. A server is far away: commands must not
wait for its answer, so there a thread goes. It uses the loop's connection, which the loop leaves alone
meanwhile.
"""

from __future__ import annotations

import threading
from queue import SimpleQueue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from queuectl.store.messages import Exchange

    Call = Callable[[], Exchange]


class Clerk:
    """Goes at once: the answer is there when `send` returns."""

    def __init__(self) -> None:
        self.away = False  # sent, and the answer not taken yet
        self.back = False  # the answer can be taken
        self._answer: Exchange | BaseException | None = None

    def send(self, call: Call) -> None:
        assert not self.away
        self.away = True
        self._go(call)

    def _go(self, call: Call) -> None:
        try:
            self._answer = call()
        except BaseException as error:
            self._answer = error
        self.back = True

    def take(self) -> Exchange:
        """The answer, or the error that came instead."""
        answer, self._answer = self._answer, None
        self.away = self.back = False
        if isinstance(answer, BaseException):
            raise answer
        assert answer is not None
        return answer

    def wait(self) -> None:
        """Until nothing is under way; the answer is nobody's business any more."""
        self._answer, self.away, self.back = None, False, False

    def close(self) -> None:
        pass


class RunningClerk(Clerk):
    """Goes in a thread of its own; `wake` tells the loop that it is back."""

    def __init__(self, wake: Callable[[], None]) -> None:
        super().__init__()
        self._wake = wake
        self._calls: SimpleQueue[Call | None] = SimpleQueue()
        self._home = threading.Event()
        self._home.set()
        self._thread = threading.Thread(target=self._work, name="clerk", daemon=True)
        self._thread.start()

    def _go(self, call: Call) -> None:
        self._home.clear()
        self._calls.put(call)

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            super()._go(call)
            self._home.set()
            self._wake()

    def wait(self) -> None:
        self._home.wait()
        super().wait()

    def close(self) -> None:
        self._calls.put(None)
        self._thread.join()

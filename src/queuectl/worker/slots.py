"""The slots of a worker: each is filled as soon as its command has ended; what has ended is looked at later.

What there is to start comes from the desk, running it is left to the executor.
"""

from __future__ import annotations

from itertools import islice

from queuectl.events import emit
from queuectl.worker.child import NEVER
from queuectl.worker.executor import Ended, Executor, Shortage, TooLate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.clock import Clock
    from queuectl.worker.child import Child
    from queuectl.worker.desk import Desk
    from queuectl.worker.fence import Fence
    from queuectl.worker.launcher import Launcher
    from queuectl.worker.signals import Signals

_CONCLUDE_WITHIN = 0.02  # seconds
_CONCLUDE_MOST = 32
_PREPARE = 2  # commands to have ready before a slot is free


class Slots:
    """Those of one incarnation of a worker."""

    def __init__(
        self,
        count: int,
        *,
        executor: Executor,
        desk: Desk,
        fence: Fence,
        launcher: Launcher,
        signals: Signals,
        clock: Clock,
    ) -> None:
        self._count = count
        self._executor = executor
        self._desk = desk
        self._fence = fence
        self._launcher = launcher
        self._signals = signals
        self._clock = clock
        self._ended: list[Child] = []  # commands that are over and not looked at yet

    def refill(self) -> None:
        """Fill the slot of each command that has ended; a closer look at it comes later."""
        if self._signals.child:
            self._signals.child = False
            for _ in range(self._count):
                child = self._executor.reap()
                if child is None:
                    break
                self._ended.append(child)
                self.start()
            else:
                # While we started one, the next may have ended; but others want our attention too.
                self._signals.child = True
        self.start()

    def start(self) -> None:
        """Start what we hold, in the slots that are free."""
        desk = self._desk
        free = self._count - len(self._executor)
        # Looked at anew each time: whoever has slept must not start what may be somebody else's by now.
        while desk.ahead and free > 0 and desk.not_before <= self._clock.monotonic() < self._fence.at:
            job = desk.ahead.popleft()
            try:
                failed = self._executor.start(job, self._fence.at)
            except TooLate:
                desk.ahead.appendleft(job)  # it goes the way of all that we hold
                return
            except Shortage as shortage:
                desk.ahead.appendleft(job)
                desk.no_room(len(self._executor))
                emit("worker.shortage", reason=str(shortage))
                return
            desk.last_start = self._clock.monotonic()
            if failed is not None:
                self._report(failed)
            else:
                free -= 1

    def prepare(self) -> None:
        self._launcher.prepare(list(islice(self._desk.ahead, _PREPARE)))

    def are_only_filled(self) -> bool:
        """Whether those that get free are filled from what we hold, and that is all there is to do."""
        return bool(
            self._desk.ahead
            and len(self._executor) == self._count
            and len(self._ended) < _CONCLUDE_MOST
            and not self._signals.child
        )

    # --- what has ended -------------------------------------------------------------------------------------

    @property
    def settled(self) -> bool:
        """Whether nothing runs, and all that ended was looked at."""
        return not len(self._executor) and not self._ended

    def on_time(self) -> None:
        """Timeouts and kill ladders that are due."""
        self._ended += self._executor.on_time()

    def conclude_at(self) -> float:
        """When to look closer at what has ended, at the latest."""
        return self._ended[0].ended_at + _CONCLUDE_WITHIN if self._ended else NEVER

    def conclude(self) -> None:
        """Look closer at what has ended. At once, unless more commands stand ready to be started.

        In a flood, short turns that only start the next command keep the slots busy; the rest is done for
        many at a time.
        """
        if self._ended and (
            not self._desk.ahead
            or len(self._ended) >= _CONCLUDE_MOST
            or self._clock.monotonic() >= self.conclude_at()
        ):
            for child in self._ended:
                self._report(self._executor.conclude(child))
            self._ended.clear()

    def _report(self, attempt: Ended) -> None:
        self._desk.pace.learn(attempt.seconds)
        self._desk.report(attempt.job, attempt.outcome, attempt.index)

    def abandon(self) -> None:
        """Forget what has ended: it is not ours any more. Nothing is kept ready either."""
        for child in self._ended:
            child.abandon()
            emit("job.stale", seq=child.job.seq, claim=child.job.claim)
        self._ended.clear()
        self._launcher.prepare([])

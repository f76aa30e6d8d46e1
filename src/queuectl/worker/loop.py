"""The worker's loop: reap -> start -> exchange with the store -> sleep until something happens.

What to claim and when to store results is left to the desk, starting and concluding commands to the slots,
what there is to hear while we sleep to the ears.
"""

from __future__ import annotations

from queuectl import doorbell
from queuectl.core import outcome as kinds
from queuectl.errors import StoreError, WorkerFenced
from queuectl.events import emit
from queuectl.failpoints import failpoint
from queuectl.worker.child import NEVER
from queuectl.worker.ears import Ears
from queuectl.worker.executor import Executor
from queuectl.worker.fence import Fence
from queuectl.worker.pulse import Pulse
from queuectl.worker.slots import Slots

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from queuectl.clock import Clock
    from queuectl.store.api import Store
    from queuectl.worker.desk import Desk
    from queuectl.worker.heart import Heart
    from queuectl.worker.launcher import Launcher
    from queuectl.worker.membership import Membership
    from queuectl.worker.signals import Signals


class Loop:
    """One worker process: M slots, fed from the store."""

    def __init__(
        self,
        *,
        store: Store,
        desk: Desk,
        heart: Heart,
        signals: Signals,
        launcher: Launcher,
        clock: Clock,
        join: Callable[[], Membership],
        lifeline: int | None = None,
        interrupted: Callable[[], None] | None = None,
        longest_wait: float = 0.0,
        pulse: Pulse | None = None,
    ) -> None:
        self._store = store
        self._desk = desk
        self._heart = heart
        self._signals = signals
        self._launcher = launcher
        self._clock = clock
        self._join = join
        self._ears = Ears(store, signals, lifeline=lifeline, heard=self._hear, orphaned=self._orphaned)
        self._interrupted = interrupted  # called at a stop signal instead of stopping
        self._pulse = pulse or Pulse(clock)  # signs of life, for whoever started us
        self._fence = Fence(heart, longest_wait)
        self._stopping: str | None = None  # drain, then now
        self._stop_at = NEVER
        self._handled_stops = 0
        self._over = False
        self.ended = False
        self.stop_when_orphaned = False
        self._enter()

    # --- life -----------------------------------------------------------------------------------------------

    def _enter(self) -> None:
        began = self._clock.monotonic()
        self._me = self._join()
        self._heart.adopt(self._me.id, began)
        self._poll = self._ears.open(self._me.bell)
        self._executor = Executor(
            self._poll,
            self._launcher,
            self._me.ledger,
            self._clock,
            self._store.location,
            self._desk.stock,
            self._desk.settings,
        )
        self._slots = Slots(
            self._me.concurrency,
            executor=self._executor,
            desk=self._desk,
            fence=self._fence,
            launcher=self._launcher,
            signals=self._signals,
            clock=self._clock,
        )
        emit("worker.started", worker=self._me.id, slots=self._me.concurrency)

    @property
    def worker_id(self) -> str:
        return self._me.id

    def run(self) -> None:
        """Until told to stop and everything is reported."""
        try:
            while not self.ended:
                self._wait(self.turn())
        except BaseException:
            # The store is not ours any more, or we are broken: nobody would own our commands.
            self._end_all("its worker could not go on")
            self._desk.close()
            raise
        self._desk.close()
        self._leave()

    def let_go_of_signals(self) -> None:
        """For a process that goes on after `run`: Ctrl+C ends it again."""
        self._signals.let_go()

    def finish(self) -> None:
        """Nothing more is to be done; may be called from another thread."""
        self._over = True
        self._signals.wake()

    def turn(self) -> float:
        """Do all there is to do now; returns how many seconds to sleep at most."""
        try:
            if self._is_wanted():
                self._obey()
            self._desk.cut_off = not self._heart.ready or self._clock.monotonic() >= self._fence.at
            if self._desk.cut_off and self._executor.untouched():
                self._fence_ourselves()
            self._slots.on_time()
            self._desk.look_at_the_machine()
            self._slots.refill()
            self._slots.conclude()
            self._deal_with_the_store()
        except WorkerFenced:
            self._fenced()
        if self._stopping:
            self._check_stopped()
        self._heart.running = len(self._executor)
        if not self._heart.running:
            self._launcher.rest()
        self._slots.prepare()
        return self._pause()

    def _deal_with_the_store(self) -> None:
        if self._is_time_for_the_store():
            self._ears.stop_listening()
            self._desk.exchange(len(self._executor), self._me)
        if self._desk.answered:
            self._desk.conclude(self._me)
            if self._desk.cut_off:
                self._heart.beat_now()  # the store may be back
            self._slots.start()

    def _is_time_for_the_store(self) -> bool:
        """Whether to deal with it now: when that is due, and nothing else is ready."""
        if self._must_not_wait():
            return False
        return self._desk.is_due(len(self._executor), self._me) and not self._poll.poll(0)

    def _must_not_wait(self) -> bool:
        """Commands have to end before our lease does: the store must not hold us up now."""
        return self._desk.cut_off and len(self._executor) > 0

    def _wait(self, seconds: float) -> None:
        """Until there is something else to do than to put the next command into a slot."""
        if seconds > 0 and not self._desk.under_way and self._ears.listen():
            seconds = 0
        until = self._clock.monotonic() + seconds
        while True:
            events = self._poll.poll(max(seconds, 0))
            if self._signals.child:
                self._slots.refill()  # before anything else: a slot must never wait for our sake
            if self._ears.attend(events, self._executor.on_ready) or not self._is_only_filling():
                return
            # In a flood of short commands that is all that most of their ends ask for.
            self._slots.prepare()
            until = min(until, self._executor.next_time, self._slots.conclude_at())
            seconds = until - self._clock.monotonic()
            if seconds <= 0:
                return

    def _is_only_filling(self) -> bool:
        """Whether slots that get free are filled from what we hold, and nobody wants anything else of us."""
        return self._slots.are_only_filled() and not (self._desk.answered or self._is_wanted())

    def _is_wanted(self) -> bool:
        """Whether somebody has told us something that `_obey` has not seen."""
        return self._heart.news or self._over or self._signals.stops > self._handled_stops

    def _pause(self) -> float:
        if self.ended or self._signals.child:
            return 0.0
        until = min(self._executor.next_time, self._stop_at)
        if not self._must_not_wait():
            until = min(until, self._desk.wake_at())
        until = min(until, self._slots.conclude_at())
        if len(self._executor) and not self._desk.cut_off:
            until = min(until, self._fence.at)
        now = self._clock.monotonic()
        if now >= self._pulse.next_at:
            self._pulse.beat(now, f"{len(self._executor)} of {self._me.concurrency} slot(s) busy")
        return min(until, self._pulse.next_at) - now

    # --- what others want -----------------------------------------------------------------------------------

    def _hear(self, rings: bytes) -> None:
        if doorbell.JOB in rings:
            self._desk.rung()
        if doorbell.CONTROL in rings or doorbell.RESCUE in rings:
            self._heart.beat_now()

    def _obey(self) -> None:
        heart = self._heart
        heart.news = False
        if heart.crash is not None:
            raise heart.crash
        if heart.fenced:
            raise WorkerFenced(f"worker {self._me.id} was declared dead")
        self._desk.settings = self._executor.settings = heart.settings
        self._launcher.shell = heart.settings.shell
        self._store.follow(heart.settings)
        self._obey_signals()
        if self._over or heart.settings.shutdown:
            self.stop()
        orders, heart.orders = heart.orders, None
        if orders is not None:
            if orders.control is not None:
                how, _, grace = orders.control.partition(" ")
                self.stop(now=how == "now", grace_ms=int(grace) if grace else None)
            for seq in orders.cancel:
                self._cancel(seq)

    def _obey_signals(self) -> None:
        if self._signals.stops > self._handled_stops:
            self._handled_stops = self._signals.stops
            if self._interrupted is not None:
                self._interrupted()
            else:
                self.stop(now=self._handled_stops > 1)

    def _cancel(self, seq: int) -> None:
        if not self._executor.stop(seq, kinds.CANCELLED, "cancelled while it ran"):
            self._desk.cancel_ahead(seq)

    def stop(self, *, now: bool = False, grace_ms: int | None = None) -> None:
        """Stop claiming; let running jobs finish for the grace time (none if `now`), then end them."""
        wanted = "now" if now else "drain"
        grace = self._heart.settings.stop_grace if grace_ms is None else grace_ms
        wait = 0.0 if now else grace / 1000
        if self._stopping not in ("now", wanted):
            emit(
                "worker.stopping",
                worker=self._me.id,
                how=wanted,
                running=len(self._executor),
                grace=wait + self._executor.kill_grace,
            )
            self._stopping = wanted
            self._desk.closed = True
            self._desk.give_back()
            failpoint("shutdown.asked")
        # The most urgent of several requests counts; a heartbeat that repeats one gives no more time.
        self._stop_at = min(self._stop_at, self._clock.monotonic() + wait)

    def _check_stopped(self) -> None:
        if self._clock.monotonic() >= self._stop_at:
            self._stop_at = NEVER
            self._executor.stop_all(kinds.RELEASED, "stopped with its worker", self._executor.kill_grace)
        self.ended = self._slots.settled and not self._desk.unsettled

    def _orphaned(self) -> None:
        """Our supervisor is gone. In the background we carry on; in the foreground nobody may outlive it."""
        emit("worker.orphaned", worker=self._me.id)
        if self.stop_when_orphaned:
            self.stop(now=True)

    # --- leases ---------------------------------------------------------------------------------------------

    def _fence_ourselves(self) -> None:
        """Before anybody else may claim them, our commands are gone."""
        emit("worker.self_fenced", worker=self._me.id)
        # KILL comes in time too, however long the usual grace is, and however late the store has let us go.
        left = self._fence.lease_ends - self._clock.monotonic()
        grace = min(self._executor.kill_grace, max(left / 2, 0.0))
        self._executor.stop_all(kinds.LOST, "stopped: its worker could not renew its lease", grace)

    def _fenced(self) -> None:
        """We were declared dead: our claims are gone. End what runs, forget it, come back as a new worker."""
        emit("worker.fenced", worker=self._me.id)
        self._end_all("its worker was declared dead")
        self._me.close()
        self._poll.close()
        self._executor.close()
        self._enter()

    def _end_all(self, error: str) -> None:
        """Kill every command, and forget all that we held."""
        self._desk.forget_all()  # first: nothing of it may be started any more
        self._executor.stop_all(kinds.LOST, error, 0.0)
        while len(self._executor):
            self._wait(0.02)
            self._slots.refill()
            self._slots.on_time()
        self._slots.abandon()
        self._desk.hang_up()

    def _leave(self) -> None:
        failpoint("shutdown.drained")
        self._heart.stop()
        try:
            self._store.forget(self._me.id)
        except StoreError as error:
            emit("store.away", error=error.message, failures=1)
        self._me.close()
        failpoint("shutdown.left")
        self._poll.close()
        self._executor.close()
        self._launcher.close()
        emit("worker.stopped", worker=self._me.id)

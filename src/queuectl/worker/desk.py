"""The worker's dealings with the store: results go in, claimed jobs come out, many at a time.

Results wait while there is other work in hand and are stored together with the next claim: one fsync for all
of them. A lone result is stored at once. There is no flush timer: the loop calls when nothing else is ready.
"""

from __future__ import annotations

import os
import random
from collections import deque

from queuectl import doorbell
from queuectl.core import outcome as kinds
from queuectl.core.lifecycle import decide
from queuectl.core.outcome import Outcome
from queuectl.errors import OutcomeUnknown, StoreError
from queuectl.events import emit
from queuectl.failpoints import failpoint
from queuectl.store.messages import Ask
from queuectl.worker.ahead import Pace
from queuectl.worker.stock import Stock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.clock import Clock
    from queuectl.config.settings import Settings
    from queuectl.core.job import Job
    from queuectl.core.lifecycle import Report
    from queuectl.store.api import Store
    from queuectl.worker.clerk import Clerk
    from queuectl.worker.gate import Gate
    from queuectl.worker.membership import Membership

REPORT_WITHIN = 0.05  # seconds a result may wait for company while there is other work in hand
REPORT_MOST = 128
_LONG = 60.0
GIVE_BACK_AFTER = 0.15  # seconds without a start, then what was claimed ahead goes back
_SHORTAGE_PAUSE, _LONGEST_SHORTAGE_PAUSE = 0.5, 10.0  # seconds until we try to run more than fitted


class Desk:
    """Claimed jobs that wait for a slot, results that wait for the store, and when to deal with it."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        settings: Settings,
        clerk: Clerk,
        *,
        queues: tuple[str, ...] | None,
        weights: tuple[int, ...] | None = None,
        only: int | None,
        stock: Stock | None = None,
        gate: Gate | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self.settings = settings
        self._clerk = clerk
        self._queues = queues
        self._weights = weights
        self._only = only
        self.stock = Stock() if stock is None else stock
        self._gate = gate  # None: nobody has limited what this machine may be burdened with
        self.pace = Pace()
        self.ahead: deque[Job] = deque()
        self.reports: list[tuple[Report, int | None]] = []  # with their marks in the ledger
        self._handed_in: list[tuple[Report, int | None]] = []  # those of the exchange that is under way
        self._asked: Ask | None = None  # what that exchange asks for
        self.closed = False  # claims nothing any more
        self.cut_off = False  # our lease may be over: claim nothing until it is renewed
        self.last_start = 0.0
        self.not_before = 0.0  # the store is away: leave it alone till then
        self._shortages = 0  # in a row: the machine had no room for what we claimed
        self._short_until = 0.0
        self._fits = 0  # commands that ran when there was no room for more
        self._first_report = 0.0  # when the oldest result came in
        self._dry = False  # the store had nothing more when we last asked
        self._next_due: int | None = None
        self._next_poll = 0.0
        self._seen = 0  # the store's change counter
        self._failures = 0
        self._unanswered: Ask | None = None  # the store was lost before it answered

    @property
    def unsettled(self) -> bool:
        """Whether the store has still to be told something, or to tell us."""
        return bool(self.reports or self._unanswered or self._clerk.away)

    @property
    def under_way(self) -> bool:
        """Whether an exchange is: until its answer is there, nobody else may use the store."""
        return self._clerk.away

    @property
    def answered(self) -> bool:
        """Whether the exchange that was under way can be ended."""
        return self._clerk.back

    # --- results --------------------------------------------------------------------------------------------

    def report(self, job: Job, outcome: Outcome, index: int | None = None) -> None:
        """A result; `index` is its mark in the ledger, cleared once it is stored."""
        report = decide(job, outcome, self.settings.policy, now=outcome.finished_at, random=random.random())
        if not self.reports:
            self._first_report = self._clock.monotonic()
        self.reports.append((report, index))
        emit("job.ended", job=job, report=report)
        failpoint("report.noted")

    def give_back(self) -> None:
        """Claimed but not started: as if nothing had happened."""
        while self.ahead:
            job = self.ahead.popleft()
            self.report(job, Outcome(kinds.UNSTARTED, finished_at=self._clock.now()))
        self._dry = True  # somebody else shall have them; we look again at the next poll

    def no_room(self, running: int) -> None:
        """The machine has none for more. Others may have what we claimed; we ask again later, ever later."""
        self.give_back()
        now = self._clock.monotonic()
        if now - self._short_until > _LONGEST_SHORTAGE_PAUSE:
            self._shortages = 0
        self._fits = running
        self._short_until = now + min(_SHORTAGE_PAUSE * 2**self._shortages, _LONGEST_SHORTAGE_PAUSE)
        self._shortages += 1

    def look_at_the_machine(self) -> None:
        """While it is beyond a limit, nothing is claimed and nothing of what we hold is started."""
        if self._gate is None or not self._gate.look(self._clock.monotonic()):
            return
        if self._gate.shut:
            self.give_back()
        else:
            self._dry = False

    @property
    def _held_off(self) -> bool:
        return self._gate is not None and self._gate.shut

    def cancel_ahead(self, seq: int) -> None:
        """A job that was claimed but not started shall not run at all."""
        for job in self.ahead:
            if job.seq == seq:
                self.ahead.remove(job)
                job.cancel_requested = 1
                outcome = Outcome(kinds.UNSTARTED, finished_at=self._clock.now())
                outcome.error = "cancelled before it ran"
                self.report(job, outcome)
                return

    def forget_all(self) -> None:
        """Our claims are gone, and with them everything we know about them."""
        self.ahead.clear()
        self.reports.clear()
        self._handed_in.clear()
        self._unanswered = None
        self._dry = False

    # --- when -----------------------------------------------------------------------------------------------

    def rung(self) -> None:
        """Somebody says there is work."""
        self._dry = False

    def is_due(self, running: int, me: Membership) -> bool:
        """Whether to deal with the store now, if nothing else is ready."""
        now = self._clock.monotonic()
        if self._clerk.away or now < self.not_before:
            return False
        if self.ahead and now - self.last_start > GIVE_BACK_AFTER and not self.closed:
            self.pace.slow_down()
            self.give_back()
        try:
            self._look(now)
        except StoreError as error:
            self._store_failed(error)
            return False
        if self._unanswered is not None or (not self._dry and self._room(running, me) > 0):
            return True
        return bool(self.reports) and (
            not self.ahead or len(self.reports) >= REPORT_MOST or now - self._first_report >= REPORT_WITHIN
        )

    def wake_at(self) -> float:
        """The (monotonic) time at which `is_due` may change its answer by itself."""
        if self._clerk.away:
            return self._clock.monotonic() + _LONG  # the clerk wakes us
        until = max(self._next_poll, self.not_before)
        if self.reports:
            until = min(until, max(self._first_report + REPORT_WITHIN, self.not_before))
        if self.ahead:
            until = min(until, max(self.last_start + GIVE_BACK_AFTER, self.not_before))
        if self._gate is not None and self._gate.shut:
            until = min(until, self._gate.next_look)
        if self._next_due is not None and not self.closed:
            left = max(self._next_due - self._clock.now(), 0) / 1000
            until = min(until, max(self._clock.monotonic() + left, self.not_before))
        return until

    def _look(self, now: float) -> None:
        """Idle: see whether the store has changed, at the poll interval or when a job is due."""
        if self._next_due is not None and self._clock.now() >= self._next_due:
            self._next_due, self._dry = None, False
        if now < self._next_poll:
            return
        self._next_poll = now + self.settings.poll_interval / 1000
        self._store.check_identity()
        seen = self._store.changed()
        if self._dry and seen != self._seen:
            self._seen = seen
            self._next_due = self._store.next_due()
            self._dry = not self._store.has_work(self._clock.now())

    def _room(self, running: int, me: Membership, *, anyway: bool = False) -> int:
        """How many jobs to claim now; 0 while what we hold is enough.

        `anyway`: there is an exchange for the sake of results, so filling up costs little more.
        """
        if self.closed or self.cut_off or self._held_off:
            return 0
        if self._shortages and self._clock.monotonic() < self._short_until:
            return self._fits - running - len(self.ahead)
        free = me.concurrency - running
        hold = self.pace.ahead(me.concurrency, self.settings.claim_ahead)
        if len(self.ahead) > max(free - 1, hold * 3 // 4 if anyway else hold // 4):
            return 0
        return min(free + hold - len(self.ahead), me.ledger.room() - len(self.ahead))

    # --- the exchange ---------------------------------------------------------------------------------------

    def exchange(self, running: int, me: Membership) -> None:
        """Hand in what there is and claim what there is room for; `conclude` when it is answered."""
        room = self._room(running, me, anyway=bool(self.reports))
        # One that nobody knows the outcome of is asked again as it was: its claims may be ours already.
        ask = self._unanswered
        if ask is None and room > 0:
            claim = os.urandom(10).hex()  # fresh for every claim: the fence of all its jobs
            ask = Ask(
                me.id,
                claim,
                room,
                queues=self._queues,
                weights=self._weights,
                only=self._only,
                free_slots=min(room, max(me.concurrency - running - len(self.ahead), 0)),
                free=self.stock.free(self.ahead),
            )
        self._asked = ask
        self._handed_in, self.reports = self.reports, []
        reports = [report for report, _ in self._handed_in]
        store, now = self._store, self._clock.now()
        self._clerk.send(lambda: store.exchange(me.id, me.host, reports, ask, now))

    def conclude(self, me: Membership) -> None:
        """What the answer to an exchange brings. WorkerFenced if we were declared dead."""
        ask, self._asked = self._asked, None
        handed_in, self._handed_in = self._handed_in, []
        try:
            answer = self._clerk.take()
        except StoreError as error:
            self.reports[:0] = handed_in
            if ask is not None and isinstance(error, OutcomeUnknown):
                ask.again, self._unanswered = True, ask
            self._store_failed(error)
            return
        self._failures = 0
        self._unanswered = None
        self._settle(handed_in, answer.stale, me)
        if handed_in:
            failpoint("report.settled")
        if answer.ring:
            doorbell.announce(self._store, doorbell.JOB)
        if ask is not None:
            self.last_start = self._clock.monotonic()
            self.ahead.extend(answer.jobs)
            self._dry = len(answer.jobs) < ask.limit
            self._next_due = answer.next_due
        if self.closed or self._held_off:
            self.give_back()  # an answer to what we had asked before

    def hang_up(self) -> None:
        """Wait for the answer to what is under way, and forget it."""
        self._clerk.wait()

    def close(self) -> None:
        """Nothing more goes to the store."""
        self._clerk.close()

    def _settle(
        self, handed_in: list[tuple[Report, int | None]], stale: list[Report], me: Membership
    ) -> None:
        given_back = False
        for report, index in handed_in:
            given_back = given_back or report.outcome.kind in (kinds.UNSTARTED, kinds.RELEASED)
            if index is not None:
                me.ledger.clear(index)
        if handed_in:
            emit("jobs.stored", reports=handed_in, stale=stale)
        for report in stale:
            # What was given back leaves no record: asked again after a lost answer, it only looks late.
            if report.outcome.kind != kinds.UNSTARTED:
                emit("job.stale", seq=report.seq, claim=report.claim)
        if given_back:
            doorbell.announce(self._store, doorbell.JOB)

    def _store_failed(self, error: StoreError) -> None:
        """Away for a moment: keep everything and try again. Gone for good: that is for the loop."""
        if error.lasting:
            raise error
        self._failures += 1
        pause = min(0.05 * 2**self._failures, 2.0) * random.uniform(0.5, 1)
        self.not_before = self._clock.monotonic() + pause
        emit("store.away", error=error.message, failures=self._failures)

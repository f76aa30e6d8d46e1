"""The queue in memory, as small as it can be said: what the state machine compares a store with."""

from __future__ import annotations

from queuectl.core import outcome as kinds
from queuectl.core import states

CRASH_LIMIT = 5


class ModelJob:
    """What must be true of one job."""

    def __init__(self, seq: int, priority: int, max_retries: int, run_at: int, now: int) -> None:
        self.seq = seq
        self.priority = priority
        self.max_retries = max_retries
        self.run_at = max(run_at, now)
        self.state = states.SCHEDULED if run_at > now else states.PENDING
        self.attempts = 0
        self.runs = 0
        self.lost = 0
        self.claim: str | None = None
        self.cancel_requested = 0
        self.recorded: list[str] = []  # outcomes

    def move(self, state: str) -> None:
        assert state in states.MOVES[self.state], f"{self.state} -> {state}"
        self.state = state

    def facts(self) -> dict[str, object]:
        """What a store must say too."""
        return {
            "state": self.state,
            "attempts": self.attempts,
            "runs": self.runs,
            "lost": self.lost,
            "claim": self.claim,
            "cancel_requested": self.cancel_requested,
            "max_retries": self.max_retries,
        } | ({"run_at": self.run_at} if self.state not in states.TERMINAL else {})


class Model:
    """All jobs; every method is the meaning of one method of the store."""

    def __init__(self) -> None:
        self.jobs: dict[str, ModelJob] = {}
        self._last_seq = 0

    def enqueue(self, id: str, *, priority: int, max_retries: int, run_at: int, now: int) -> None:
        self._last_seq += 1
        self.jobs[id] = ModelJob(self._last_seq, priority, max_retries, run_at, now)

    def promote(self, now: int) -> None:
        for job in self.jobs.values():
            if job.state in states.TIMED and job.run_at <= now:
                job.move(states.PENDING)

    def claim(self, limit: int, claim: str) -> list[str]:
        ready = [id for id, job in self.jobs.items() if job.state == states.PENDING]
        ready.sort(key=lambda id: self._order(self.jobs[id]))
        for id in ready[:limit]:
            job = self.jobs[id]
            job.move(states.PROCESSING)
            job.attempts += 1
            job.runs += 1
            job.claim = claim
        return ready[:limit]

    @staticmethod
    def _order(job: ModelJob) -> tuple[int, int, int]:
        return -job.priority, job.run_at, job.seq

    def holds(self, id: str, claim: str | None) -> bool:
        return id in self.jobs and claim is not None and self.jobs[id].claim == claim

    def finish(self, id: str, kind: str, now: int) -> None:
        job = self.jobs[id]
        wanted_stopped = job.cancel_requested or kind == kinds.CANCELLED
        job.claim, job.cancel_requested = None, 0
        if kind == kinds.UNSTARTED:
            job.runs -= 1
        else:
            job.recorded.append(kind)
        if kind == kinds.SUCCEEDED:
            job.move(states.COMPLETED)
        elif wanted_stopped:
            job.move(states.CANCELLED)
            job.attempts -= kind == kinds.UNSTARTED
        elif kind in (kinds.RELEASED, kinds.UNSTARTED):
            job.move(states.PENDING)
            job.attempts -= 1
        else:
            self._fail(job, kind, now)

    @staticmethod
    def _fail(job: ModelJob, kind: str, now: int) -> None:
        job.lost += kind == kinds.LOST
        if (kind == kinds.LOST and job.lost >= CRASH_LIMIT) or job.attempts == job.max_retries + 1:
            job.move(states.DEAD)
        elif kind == kinds.LOST and job.lost == 1:
            job.move(states.PENDING)
        else:
            job.move(states.FAILED)
            job.run_at = now + 1_000 * 2**job.attempts

    def cancel(self, id: str) -> tuple[int, int]:
        job = self.jobs[id]
        if job.state == states.PROCESSING:
            job.cancel_requested = 1
            return 0, 1
        if job.state in states.TERMINAL:
            return 0, 0
        job.move(states.CANCELLED)
        return 1, 0

    def retry(self, id: str, now: int) -> int:
        job = self.jobs[id]
        if job.state not in (states.DEAD, states.CANCELLED, states.FAILED):
            return 0
        job.move(states.PENDING)
        job.attempts = job.lost = 0
        job.run_at = now
        return 1

    def remove(self, id: str) -> int:
        if self.jobs[id].state == states.PROCESSING:
            return 0
        del self.jobs[id]
        return 1

"""Two workers with running jobs on one store, and clocks that are set under them; what became of all that."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from tests.support.home import Home

from proof.checker import LOG, RunLog, examine, recorded
from proof.verdict import Verdict
from proof.wall_clock import WallClock
from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.core.job import Attempt
from queuectl.testing import wait_until

# Short, so that jobs can outlive a lease: a heart that goes by the wall clock would lose it.
LEASE, SLEEP, SHORTEST, TIMEOUT = 3.0, 4.5, 2.5, 2.0
BACK_OFF = 2.0  # after the first failure, by default
_SETTINGS = {"worker-heartbeat-interval": "0.3", "worker-lease": str(LEASE), "kill-grace": "0.3"}
_LONGEST = 60.0  # seconds that anything may take on a busy machine; a jump makes it hours
SCHEDULED_MINUTES = 50

# By the first word of an id: how the attempts must end (others succeed at once), and what one takes at least.
_OUTCOMES = {
    "late": [kinds.TIMEOUT],
    "fails": [kinds.FAILED, kinds.SUCCEEDED],
    "after": [kinds.FAILED, kinds.SUCCEEDED],
}
_LEAST = {"sleeper": SHORTEST, "late": TIMEOUT, "skewed": LEASE}


@dataclass
class Told:
    """What was seen on one store."""

    engine: str
    verdict: Verdict = field(default_factory=Verdict)
    counts: Counter[str] = field(default_factory=Counter)
    timeouts: list[float] = field(default_factory=list)  # seconds that they really took
    waits: list[float] = field(default_factory=list)  # seconds between a failure and the next run


class Scene:
    """`jump` and `skew` may be called again and again; `told` is the end."""

    def __init__(self, engine: str, url: str | None, library: Path, directory: Path) -> None:
        self._told = Told(engine)
        self._site = Home(directory / "home", url=url)
        (directory / "other").mkdir()
        # A machine of its own: another home, and on a server nothing in common but that.
        self._other = Home(directory / "other" / "home", url=url) if url else self._site
        self._clocks = [WallClock(library, directory / name) for name in ("one", "two")]
        self._log = self._site.work / LOG
        self._ids: list[str] = []
        self._rounds = 0

    def __enter__(self) -> Self:
        self._site.configure(**_SETTINGS)
        for home, clock in zip((self._site, self._other), self._clocks, strict=True):
            home.foreground("--concurrency", "6", env=clock.env)
        wait_until(lambda: len(self._site.workers()) == 2, timeout=_LONGEST, what="both workers to be ready")
        return self

    def __exit__(self, *error: object) -> None:
        for home in {self._site, self._other}:
            home.close()

    # --- what is done -----------------------------------------------------------------------------------

    def jump(self, words: str, seconds: int, *, all_: bool) -> None:
        """Set the clock of one worker, or of both, while they run jobs; and back when those have ended."""
        # Whose clock goes back must outlive a lease; a jump forward would end one at the next heartbeat.
        sleepers = self._put("sleeper", f"sleep {SLEEP if seconds < 0 else SHORTEST}", 8)
        (late,) = self._put("late", "sleep 600", 1, timeout=TIMEOUT, max_retries=0)
        (fails,) = self._put("fails", 'test "$QUEUECTL_ATTEMPT" -gt 1 || exit 1', 1)
        (later,) = self._put("later", "true", 1, delay=f"{SCHEDULED_MINUTES}m")
        self._until_runs([*sleepers, late])
        self._site.wait_for(fails, states.FAILED, states.COMPLETED, timeout=_LONGEST)
        for clock in self._clocks if all_ else self._clocks[:1]:
            clock.set(seconds)
        jumped = time.monotonic()
        # One more after the jump, from somebody whose clock is right.
        (after,) = self._put("after", 'test "$QUEUECTL_ATTEMPT" -gt 1 || exit 1', 1)
        self._site.wait_for(fails, states.COMPLETED, timeout=_LONGEST)
        self._told.waits.append(round(time.monotonic() - jumped, 3))
        ids = [*sleepers, late, fails, after]
        self._settle(ids)
        where = f"{words} for {'all' if all_ else 'one'}"
        self._check_later(later, where, due=seconds > SCHEDULED_MINUTES * 60)
        for clock in self._clocks:
            clock.set(0)
        self._check_times(where, ids)
        self._told.counts["jumps"] += 1
        self._told.counts["over a jump"] += len(sleepers) + 1

    def skew(self, seconds: int) -> None:
        """Two machines whose clocks differ, on one server: each takes and ends its share."""
        self._clocks[1].set(seconds)
        ids = self._put("skewed", f"sleep {LEASE + 0.5}", 8) + self._put("short", "true", 30)
        self._settle(ids)
        self._clocks[1].set(0)
        with self._site.queue() as queue:
            hosts = {attempt.worker_id for id in ids for attempt in queue.attempts(queue.get(id))}
        if len(hosts) != 2:
            self._note(f"{seconds} s apart: only {hosts} has worked")
        self._check_times(f"{seconds} s apart", ids)
        self._told.counts["skews"] += 1

    def told(self) -> Told:
        """Nothing is at work any more."""
        log = RunLog(self._log)
        verdict = examine(self._site, self._ids, log, living=self._site.workers())
        for name, tokens in log.starts.items():
            most = 2 if name.startswith(("fails", "after")) else 1
            if len(tokens) > most:
                self._told.counts["jobs run again"] += 1
                verdict.note("overlapping", f"{name} was run {len(tokens)} times")
        self._told.verdict.add(verdict)
        return self._told

    # --- jobs -------------------------------------------------------------------------------------------

    def _put(self, name: str, command: str, count: int, **fields: object) -> list[str]:
        self._rounds += 1
        ids = [f"{name}-{self._rounds}-{number}" for number in range(count)]
        line = recorded(command, self._log)
        with self._site.queue() as queue:
            queue.enqueue_many(
                [{"id": id, "command": line, "cwd": str(self._site.work), **fields} for id in ids]
            )
        self._ids += ids
        return ids

    def _until_runs(self, ids: list[str]) -> None:
        wait_until(
            lambda: set(ids) <= set(RunLog(self._log).starts), timeout=_LONGEST, what="the jobs to run"
        )

    def _settle(self, ids: list[str]) -> None:
        with self._site.queue() as queue:
            assert queue.wait(ids, timeout=_LONGEST), [(id, queue.get(id).state) for id in ids]

    # --- what must be -----------------------------------------------------------------------------------

    def _check_later(self, id: str, where: str, *, due: bool) -> None:
        """It runs at a time of day, by the clock of any worker."""
        if due:
            self._site.wait_for(id, states.COMPLETED, timeout=_LONGEST)
            self._told.counts["due"] += 1
            return
        if self._site.state(id) != states.SCHEDULED:
            self._note(f"{where}: {id} did not wait for its time")
        with self._site.queue() as queue:
            queue.cancel(id)

    def _check_times(self, where: str, ids: list[str]) -> None:
        with self._site.queue() as queue:
            attempts = {id: list(queue.attempts(queue.get(id))) for id in ids}
        for id, runs in attempts.items():
            kind = id.partition("-")[0]
            if [attempt.outcome for attempt in runs] != _OUTCOMES.get(kind, [kinds.SUCCEEDED]):
                self._note(f"{where}: {id}: {[attempt.outcome for attempt in runs]}")
            self._told.counts["leases lost"] += sum(attempt.outcome == kinds.LOST for attempt in runs)
            for took in map(_seconds, runs):
                # No sleep is shorter than it should be; the longest that it may be is generous.
                if not _LEAST.get(kind, 0.0) - 0.1 <= took < _LONGEST:
                    self._told.counts["wrong durations"] += 1
                    self._note(f"{where}: {id} is said to have taken {took} s")
                if kind == "late":
                    self._told.timeouts.append(took)

    def _note(self, text: str) -> None:
        self._told.verdict.note("unsound", text)


def _seconds(attempt: Attempt) -> float:
    return (attempt.finished_at - (attempt.started_at or attempt.finished_at)) / 1000

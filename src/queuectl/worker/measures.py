"""What a worker measures of its jobs: gathered in memory, stored now and then by its heart.

A worker that is killed takes the last seconds of it along; what counts exactly is kept by the transactions.
"""

from __future__ import annotations

import threading

from queuectl.core.measures import RUN, WAIT, class_of, kind_of_class, sum_kind
from queuectl.core.outcome import SUCCEEDED, UNSTARTED
from queuectl.core.runtimes import class_of_run, digest_of
from queuectl.events import subscribe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.config.settings import Settings
    from queuectl.core.job import Job
    from queuectl.core.lifecycle import Report
    from queuectl.core.outcome import Outcome
    from queuectl.store.api import Store

    Command = tuple[str, str | None, str | None]  # line, argv, directory

RESCUED, STALE, STORE_ERRORS = "rescued", "stale", "store errors"
OF_ALL = "-"  # what belongs to no queue: none can have this name
_EVERY_MS = 5_000
_MOST_RUNS = 400  # commands and classes between two times: who runs more different ones learns of some


class Measures:
    """Hears events; as upkeep, stores what it has gathered."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # the loop measures, the heart stores
        self._amounts: dict[tuple[str, str], int] = {}
        self._runs: dict[tuple[Command, int], int] = {}  # successes, by class of duration
        self._next = 0
        self._leave = subscribe(self._hear)

    def _hear(self, name: str, fields: dict[str, object]) -> None:
        if name == "job.ended":
            self._ended(fields["job"], fields["report"])  # type: ignore[arg-type]
        elif name == "worker.rescued":
            self._add(OF_ALL, RESCUED, int(str(fields["jobs"])))
        elif name == "job.stale":
            self._add(OF_ALL, STALE, 1)
        elif name in ("store.retried", "store.away", "heart.failed"):
            self._add(OF_ALL, STORE_ERRORS, 1)
        elif name == "worker.stopped":
            self._leave()

    def _ended(self, job: Job, report: Report) -> None:
        outcome = report.outcome
        if outcome.started_at is None or outcome.kind == UNSTARTED:
            return
        run = max(outcome.finished_at - outcome.started_at, 0)
        wait = max(outcome.started_at - max(job.run_at, job.created_at), 0)
        queue = job.queue
        # As it is: its digest is made when it is stored, and not on the loop.
        ran = ((job.command, job.argv, job.cwd), class_of_run(run)) if _teaches(outcome) else None
        with self._lock:
            runs = self._runs
            if ran is not None and (ran in runs or len(runs) < _MOST_RUNS):
                runs[ran] = runs.get(ran, 0) + 1
            amounts = self._amounts
            for what, ms in ((WAIT, wait), (RUN, run)):
                key = queue, kind_of_class(what, class_of(ms))
                amounts[key] = amounts.get(key, 0) + 1
                key = queue, sum_kind(what)
                amounts[key] = amounts.get(key, 0) + ms

    def _add(self, queue: str, kind: str, amount: int) -> None:
        with self._lock:
            self._amounts[queue, kind] = self._amounts.get((queue, kind), 0) + amount

    def __call__(self, store: Store, settings: Settings, now: int) -> None:  # noqa: ARG002
        if not self._next - _EVERY_MS <= now < self._next:  # its time has come, or the clock went back
            self._next = now + _EVERY_MS
            self.flush(store, now)

    def flush(self, store: Store, now: int) -> None:
        """Store what there is."""
        with self._lock:
            amounts, self._amounts = self._amounts, {}
            runs, self._runs = self._runs, {}
        if not amounts:
            return
        try:
            store.history().measured(
                [(*key, amount) for key, amount in amounts.items()], now, _digested(runs)
            )
        except BaseException:
            with self._lock:  # for the next time
                for key, amount in amounts.items():
                    self._amounts[key] = self._amounts.get(key, 0) + amount
                for command, jobs in runs.items():
                    if command in self._runs or len(self._runs) < _MOST_RUNS:
                        self._runs[command] = self._runs.get(command, 0) + jobs
            raise


def _digested(runs: dict[tuple[Command, int], int]) -> dict[tuple[str, int], int]:
    return {(digest_of(*command), number): jobs for (command, number), jobs in runs.items()}


def _teaches(outcome: Outcome) -> bool:
    """Only successes tell how long a command takes: a failure is over sooner, a timeout is our own doing."""
    return outcome.kind == SUCCEEDED

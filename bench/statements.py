"""`python -m bench.statements`: the SQL that a job costs on SQLite, counted, not timed. `--json`: the sums.

Jobs are claimed and finished by way of the store, in batches; nothing is run.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import Any

import apsw

from bench.claimers import Claimer
from bench.places import SQLITE, fresh_place

JOBS, BATCH = 6_400, 64
_WIDTH = 90


class Counts:
    """What connections execute: each statement's times, and its steps in SQLite's machine."""

    def __init__(self) -> None:
        self._connections: list[apsw.Connection] = []
        self.times: Counter[str] = Counter()
        self.steps: Counter[str] = Counter()
        self.pages = 0

    def watch(self, connection: apsw.Connection) -> None:
        self._connections.append(connection)
        connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, self._executed)

    def _executed(self, event: dict[str, Any]) -> None:
        """Of an `executemany`, once for each row."""
        self.times[event["sql"]] += 1
        self.steps[event["sql"]] += event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"]

    def begin(self) -> None:
        """What was before does not count."""
        self.times.clear()
        self.steps.clear()
        self.pages = -self._written()

    def end(self) -> None:
        self.pages += self._written()
        for connection in self._connections:
            connection.trace_v2(0)

    def _written(self) -> int:
        return sum(connection.status(apsw.SQLITE_DBSTATUS_CACHE_WRITE)[0] for connection in self._connections)

    def per_job(self, jobs: int) -> dict[str, float]:
        return {
            "statements": sum(self.times.values()) / jobs,
            "steps": sum(self.steps.values()) / jobs,
            "pages": self.pages / jobs,
            "commits": self.times["COMMIT"] / jobs,
        }


def counted(jobs: int = JOBS, batch: int = BATCH) -> Counts:
    counts = Counts()
    apsw.connection_hooks.append(counts.watch)
    try:
        with fresh_place(SQLITE, {}) as place, place.queue() as queue:
            queue.enqueue_many(["true"] * jobs)
            claimer = Claimer(queue, batch)
            counts.begin()
            claimer.work()
            counts.end()
            claimer.close()
            assert claimer.done == jobs, f"{claimer.done} of {jobs} finished"
    finally:
        apsw.connection_hooks.remove(counts.watch)
    return counts


def main() -> None:
    counts = counted()
    if "--json" in sys.argv[1:]:
        print(json.dumps(counts.per_job(JOBS)))
        return
    print(f"{JOBS:,} jobs in batches of {BATCH}; for each of them:\n\n times   steps  statement")
    for sql, steps in counts.steps.most_common():
        print(f"{counts.times[sql] / JOBS:6.3f} {steps / JOBS:7.1f}  {' '.join(sql.split())[:_WIDTH]}")
    print("\n" + ", ".join(f"{figure:.4g} {name}" for name, figure in counts.per_job(JOBS).items()))


if __name__ == "__main__":
    main()

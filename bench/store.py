"""Claim and finish through the store in one file, by one process, without running anything."""

from __future__ import annotations

import time

from bench.claimers import BATCH, Claimer
from bench.places import SQLITE, fresh_place
from bench.table import Result
from bench.targets import at_least


def claim_and_finish(count: int) -> float:
    with fresh_place(SQLITE, {}) as place, place.queue() as queue:
        queue.enqueue_many(["true"] * count)
        claimer = Claimer(queue, BATCH)
        began = time.perf_counter()
        claimer.work()
        rate = count / (time.perf_counter() - began)
        claimer.close()
    assert claimer.done == count, f"{claimer.done} of {count} finished"
    return rate


def measure(*, quick: bool = False) -> list[Result]:
    rounds, count = (3, 20_000) if quick else (7, 50_000)
    rates = [claim_and_finish(count) for _ in range(rounds)]
    return [at_least(f"claim + finish on {SQLITE}, batches of {BATCH}", rates, "jobs/s", 40_000)]

"""Claim and finish through the store in one file, by one process, without running anything."""

from __future__ import annotations

import time

from bench.claimers import BATCH, Claimer
from bench.places import SQLITE, fresh_place
from bench.table import Result
from bench.targets import at_least, stated

LARGE = 1_000


def claim_and_finish(count: int, batch: int) -> float:
    with fresh_place(SQLITE, {}) as place, place.queue() as queue:
        queue.enqueue_many(["true"] * count)
        claimer = Claimer(queue, batch)
        began = time.perf_counter()
        claimer.work()
        rate = count / (time.perf_counter() - began)
        claimer.close()
    assert claimer.done == count, f"{claimer.done} of {count} finished"
    return rate


def measure(*, quick: bool = False) -> list[Result]:
    rounds, count = (3, 20_000) if quick else (7, 50_000)
    rates: dict[int, list[float]] = {LARGE: [], BATCH: []}
    for _ in range(rounds):
        for batch, found in rates.items():
            found.append(claim_and_finish(count, batch))
    what = f"claim + finish on {SQLITE}, batches of"
    return [
        at_least(f"{what} {LARGE:,}", rates[LARGE], "jobs/s", 40_000),
        stated(f"{what} {BATCH}", rates[BATCH], "jobs/s"),
    ]

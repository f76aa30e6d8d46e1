"""Claim and finish through the store, without running anything."""

from __future__ import annotations

import time

from bench.home import fresh_home
from bench.table import Result, median
from queuectl.config.settings import Settings
from queuectl.core.lifecycle import Report, decide
from queuectl.core.outcome import SUCCEEDED, Outcome
from queuectl.store.messages import Ask
from queuectl.worker.membership import Membership


def claim_and_finish(count: int, batch: int) -> float:
    with fresh_home() as home, home.queue() as queue:
        queue.enqueue_many(["true"] * count)
        (home.path / "run").mkdir(mode=0o700, exist_ok=True)
        store, policy = queue.store, Settings().policy
        me = Membership(store, concurrency=batch, queues=None, supervisor=None)
        me.register(store, 60_000, queue.clock.now())
        reports: list[Report] = []
        done = round_ = 0
        began = time.perf_counter()
        while done < count:
            now = queue.clock.now()
            round_ += 1
            answer = store.exchange(me.id, me.host, reports, Ask(me.id, f"claim{round_}", batch), now)
            done += len(reports)
            reports = [
                decide(job, Outcome(SUCCEEDED, started_at=now, finished_at=now), policy, now=now)
                for job in answer.jobs
            ]
        rate = count / (time.perf_counter() - began)
        me.close()
        return rate


def measure(*, rounds: int = 5, count: int = 20_000) -> list[Result]:
    rates = [claim_and_finish(count, 100) for _ in range(rounds)]
    return [
        Result(
            "claim + finish through the store, batches of 100",
            rates,
            "jobs/s",
            target="≥ 20,000",
            good=median(rates) >= 20_000,
        )
    ]

"""What limits and dependencies cost: the same work with and without them, and graphs of two sizes."""

from __future__ import annotations

import json
import time

from bench.ours import commands_per_second
from bench.places import SQLITE, fresh_place
from bench.table import Result, median
from queuectl.core.spec import Defaults, job_from_fields

COMMAND = "true"
SMALL, LARGE = 1_000, 10_000


def limited(*, rounds: int, count: int) -> Result:
    """Commands per second through a queue with a concurrency limit and a rate that are never reached."""
    plain: list[float] = []
    bound: list[float] = []
    for _ in range(rounds):
        for values, rule in ((plain, {}), (bound, {"concurrency": 64, "rate": "1000000/s"})):
            with fresh_place(SQLITE, {}) as place:
                if rule:
                    with place.queue() as queue:
                        queue.store.queues().set("default", rule, queue.clock.now())
                values.append(commands_per_second(place, COMMAND, count))
    ratio = median([mine / other for mine, other in zip(bound, plain, strict=True)])
    return Result(
        "commands/s with a concurrency limit and a rate limit",
        bound,
        "/s",
        peer="without",
        peer_values=plain,
        ratio=ratio,
        target="≥ 0.75",
        good=ratio >= 0.75,
    )


def _chain(size: int) -> list[dict[str, object]]:
    return [
        {"id": f"c{n}", "command": "true", **({"after": [f"c{n - 1}"]} if n else {})} for n in range(size)
    ]


def _fan(size: int) -> list[dict[str, object]]:
    return [{"id": f"f{n}", "command": "true", **({"after": ["f0"]} if n else {})} for n in range(size)]


def graphs(*, rounds: int) -> list[Result]:
    """Enqueueing a graph, and cancelling all of it through its first job."""
    results = []
    for name, make in (("a chain", _chain), ("a fan", _fan)):
        enqueued: list[float] = []
        settled: dict[int, list[float]] = {SMALL: [], LARGE: []}
        for _ in range(rounds):
            for size, values in settled.items():
                taken, telling = _graph(make(size))
                values.append(telling / size * 1e6)
                if size == LARGE:
                    enqueued.append(taken)
        results.append(
            Result(
                f"enqueue {name} of {LARGE:,} jobs",
                enqueued,
                "s",
                target="< 2.0",
                good=median(enqueued) < 2,
            )
        )
        ratio = median([big / small for big, small in zip(settled[LARGE], settled[SMALL], strict=True)])
        results.append(
            Result(
                f"… cancel it from its first job, a job of {LARGE:,}",
                settled[LARGE],
                "µs",
                peer=f"of {SMALL:,}",
                peer_values=settled[SMALL],
                ratio=ratio,
                target="≤ 1.5",
                good=ratio <= 1.5,
            )
        )
    return results


def _graph(specs: list[dict[str, object]]) -> tuple[float, float]:
    with fresh_place(SQLITE, {}) as place, place.queue() as queue:
        lines = [json.dumps(spec) for spec in specs]
        began = time.perf_counter()
        defaults = Defaults(now=queue.clock.now(), cwd="/")
        queue.enqueue_jobs(job_from_fields(json.loads(line), defaults) for line in lines)
        stored = time.perf_counter()
        queue.cancel(str(specs[0]["id"]))
        told = time.perf_counter()
        assert queue.stats().counts["cancelled"] == len(specs)
    return stored - began, told - stored


def measure(*, quick: bool = False) -> list[Result]:
    rounds, count = (3, 1_000) if quick else (5, 3_000)
    return [limited(rounds=rounds, count=count), *graphs(rounds=rounds)]

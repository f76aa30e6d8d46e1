"""Run with a command and a count: enqueues so many jobs, which RQ's workers find by their name."""

from __future__ import annotations

import os
import sys

from command import run  # type: ignore[import-not-found]  # beside this file

# Not in our own environment: bench.contestants.rq makes one for it.
from redis import Redis  # type: ignore[import-not-found]
from rq import Queue  # type: ignore[import-not-found]

if __name__ == "__main__":
    queue = Queue(connection=Redis.from_url(os.environ["BENCH_STORE"]))
    queue.enqueue_many([Queue.prepare_data(run, (sys.argv[1],)) for _ in range(int(sys.argv[2]))])

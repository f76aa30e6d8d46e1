"""Run with a command and a count: enqueues so many jobs. Imported by Dramatiq's workers: runs them."""

from __future__ import annotations

import os
import sys

# Not in our own environment: bench.contestants.dramatiq makes one for it.
import dramatiq  # type: ignore[import-not-found]
from command import run  # type: ignore[import-not-found]  # beside this file
from dramatiq.brokers.redis import RedisBroker  # type: ignore[import-not-found]

dramatiq.set_broker(RedisBroker(url=os.environ["BENCH_STORE"]))
job = dramatiq.actor(run)

if __name__ == "__main__":
    for _ in range(int(sys.argv[2])):
        job.send(sys.argv[1])

"""Run with a command and a count: enqueues so many jobs. Imported by Huey's consumer: runs them."""

from __future__ import annotations

import os
import sys

from command import run  # type: ignore[import-not-found]  # beside this file

# Not in our own environment: bench.contestants.huey makes one for it.
from huey import SqliteHuey  # type: ignore[import-not-found]

huey = SqliteHuey(filename=os.environ["BENCH_STORE"])
job = huey.task(name="run")(run)

if __name__ == "__main__":
    for _ in range(int(sys.argv[2])):
        job(sys.argv[1])

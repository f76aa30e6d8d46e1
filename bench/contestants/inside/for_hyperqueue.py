"""HyperQueue's LocalCluster, with one job of many tasks. Runs in an environment that has it.

Reads a JSON object from stdin (command, count, cores); the last line on stdout is the commands per second.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

# Not in our own environment: bench.contestants.hyperqueue makes one for it.
from hyperqueue import Job, LocalCluster  # type: ignore[import-not-found]
from hyperqueue.cluster import WorkerConfig  # type: ignore[import-not-found]


def measure(command: str, count: int, cores: int) -> float:
    reports: list[tuple[float, Any]] = []

    def note(jobs: Any) -> None:
        (report,) = jobs.values()
        reports.append((time.perf_counter(), report))

    job = Job()
    for _ in range(count):
        job.program(["sh", "-c", command], stdout=None, stderr=None)
    with LocalCluster(worker_config=WorkerConfig(cores=cores)) as cluster:
        client = cluster.client()
        began = time.perf_counter()
        submitted = client.submit(job)
        client.connection.wait_for_jobs((submitted.id,), note)
    finished = reports[-1][1]["finished"]  # failed ones are counted apart
    assert finished == count, f"{finished} of {count} finished"
    # The first report comes at once; a run that has only the last one besides was too short to be exact.
    when, report = reports[-2] if len(reports) > 2 else reports[-1]
    return float(report["finished"] / (when - began))


if __name__ == "__main__":
    print(measure(**json.load(sys.stdin)))

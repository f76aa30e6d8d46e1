"""procrastinate's own fetch and finish, through its JobManager. Runs in an environment that has it.

Reads a JSON object from stdin (url, schema, count, tasks), writes the jobs per second to stdout.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

# Not in our own environment: bench.contestants.procrastinate has one for it.
from procrastinate import PsycopgConnector  # type: ignore[import-not-found]
from procrastinate.jobs import Job, Status  # type: ignore[import-not-found]
from procrastinate.manager import JobManager  # type: ignore[import-not-found]
from procrastinate.schema import SchemaManager  # type: ignore[import-not-found]

CHUNK = 1_000


async def measure(url: str, schema: str, count: int, tasks: int) -> float:
    settings = {"options": f"-c search_path={schema} -c synchronous_commit=on", "application_name": "bench"}
    connector = PsycopgConnector(conninfo=url, kwargs=settings, min_size=tasks, max_size=tasks)
    await connector.open_async()
    try:
        await SchemaManager(connector).apply_schema_async()
        manager = JobManager(connector)
        for start in range(0, count, CHUNK):
            jobs = [_job() for _ in range(min(CHUNK, count - start))]
            await manager.batch_defer_jobs_async(jobs)
        worker = await manager.register_worker()
        began = time.perf_counter()
        done = await asyncio.gather(*(_fetch_and_finish(manager, worker) for _ in range(tasks)))
        seconds = time.perf_counter() - began
    finally:
        await connector.close_async()
    assert sum(done) == count, f"{sum(done)} of {count} finished"
    return count / seconds


def _job() -> Any:
    return Job(queue="default", lock=None, queueing_lock=None, task_name="true", task_kwargs={})


async def _fetch_and_finish(manager: Any, worker: int) -> int:
    done = 0
    while (job := await manager.fetch_job(queues=None, worker_id=worker)) is not None:
        await manager.finish_job(job, status=Status.SUCCEEDED, delete_job=False)
        done += 1
    return done


if __name__ == "__main__":
    print(asyncio.run(measure(**json.load(sys.stdin))))

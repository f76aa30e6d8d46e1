"""The numbers: of this moment, and of the last hours and days."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse

from queuectl import __version__
from queuectl.core import states
from queuectl.history import RANGES, history
from queuectl.overview import Overview
from queuectl.queue import Queue
from queuectl.web import answers
from queuectl.web.describing import gives
from queuectl.web.reading import FromPool

router = APIRouter(tags=["stats"])
_HOUR_MS = 3_600_000
QueueName = Annotated[str | None, Query(max_length=200)]


@router.get("/stats", **gives(answers.Stats))
def stats(pool: FromPool, queue: QueueName = None) -> JSONResponse:
    """Jobs by state, workers, how long the oldest waits, how fast it goes."""
    with pool.queue() as opened:
        return JSONResponse(stats_document(opened, queue))


def stats_document(
    queue: Queue, name: str | None, foreseen: dict[str, object] | None = None
) -> dict[str, object]:
    """`foreseen`: the estimate of a moment ago, from who asks all the time and need not pay for another."""
    overview = Overview(queue, name)
    ended = queue.stats(window_ms=_HOUR_MS, queue=name).finished_recently
    return {
        **overview.to_dict(),
        **(foreseen or overview.estimate.to_dict()),
        "failed_last_hour": ended[states.DEAD],
        "completed_last_hour": ended[states.COMPLETED],
        "version": __version__,
    }


@router.get("/history", **gives(answers.History))
def past(
    pool: FromPool,
    range: Annotated[str, Query(pattern=f"^({'|'.join(RANGES)})$")] = "1h",
    queue: QueueName = None,
) -> JSONResponse:
    """What ended and came in, how many waited and for how long, step by step."""
    with pool.queue() as opened:
        return JSONResponse(history(opened, range, queue))

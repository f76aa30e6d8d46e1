"""The one stream of server-sent events that a page has; where it was cut off it goes on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import StreamingResponse

from queuectl.web import models
from queuectl.web.live import Live, Page
from queuectl.web.problems import Problem
from queuectl.web.watch import JobWatch

router = APIRouter(tags=["live"])
_PING_S = 15.0
_MOST_PAGES = 200

_DOCUMENT = models.gives_text()
_DOCUMENT["responses"][200] = {
    "content": {"text/event-stream": {"schema": {"type": "string"}}},
    "description": "Events: stats, changed, job, output, reset",
}


@router.get("/stream", **_DOCUMENT)
async def stream(
    request: Request,
    queue: Annotated[str | None, Query(max_length=200, description="of the stats")] = None,
    job: Annotated[
        str | None, Query(max_length=200, description="also send this one, and its output")
    ] = None,
    attempt: Annotated[int | None, Query(ge=1, le=2**53)] = None,
    after: Annotated[int, Query(ge=0, le=2**53, description="bytes of output that are known")] = 0,
    last_event_id: Annotated[str | None, Header(max_length=100)] = None,
) -> StreamingResponse:
    """What changes, as it changes."""
    live: Live = request.app.state.live
    if live.pages >= _MOST_PAGES:
        raise Problem(503, "too_many_pages", f"{_MOST_PAGES} pages are open already", "close some")
    loop = asyncio.get_running_loop()
    woken = asyncio.Event()

    def wake() -> None:
        try:
            loop.call_soon_threadsafe(woken.set)
        except RuntimeError:
            pass  # the loop has ended, and with it the page

    watch = None if job is None else JobWatch(job, run=attempt, after=after)
    page = Page(wake, queue=queue, job=watch)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(
        _events(live, page, woken, last_event_id), headers=headers, media_type="text/event-stream"
    )


async def _events(
    live: Live, page: Page, woken: asyncio.Event, last_event_id: str | None
) -> AsyncIterator[bytes]:
    live.join(page)
    try:
        yield b"retry: 1000\n\n"
        if last_event_id is not None:
            event = _resumed(live, last_event_id)
            if event is not None:
                yield _line(live, event, {"jobs": True})
        while not page.closed:
            try:
                async with asyncio.timeout(_PING_S):
                    await woken.wait()
            except TimeoutError:
                yield b": ping\n\n"
                continue
            woken.clear()
            for event, data in page.take():
                yield _line(live, event, data)
    finally:
        live.leave(page)


def _resumed(live: Live, last: str) -> str | None:
    """What somebody has missed who was here until then: nothing, some changes, or nobody knows."""
    epoch, _, version = last.partition("-")
    if epoch != live.epoch or not version.isdigit():
        return "reset"
    return None if int(version) >= live.version else "changed"


def _line(live: Live, event: str, data: object) -> bytes:
    text = json.dumps(data, ensure_ascii=False)
    return f"id: {live.epoch}-{live.version}\nevent: {event}\ndata: {text}\n\n".encode()

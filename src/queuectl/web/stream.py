"""The one stream of server-sent events that a page has; where it was cut off it goes on."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import Response, StreamingResponse

from queuectl.web.describing import gives_text
from queuectl.web.live import Live, Page
from queuectl.web.problems import Problem
from queuectl.web.watch import JobWatch

router = APIRouter(tags=["live"])
_PING_S = 15.0
_MOST_PAGES = 200

_DOCUMENT = gives_text()
_DOCUMENT["responses"][200] = {
    "content": {"text/event-stream": {"schema": {"type": "string"}}},
    "description": "Events: stats, changed, job, output, reset, trouble",
}


@router.get("/stream", response_class=Response, **_DOCUMENT)
async def stream(
    request: Request,
    queue: Annotated[str | None, Query(max_length=200, description="of the stats")] = None,
    job: Annotated[
        str | None, Query(max_length=200, description="also send this one, and its output")
    ] = None,
    attempt: Annotated[int | None, Query(ge=1, le=2**53)] = None,
    after: Annotated[int, Query(ge=0, le=2**53, description="bytes of output that are known")] = 0,
    last_event_id: Annotated[str | None, Header(max_length=100)] = None,
) -> Response:
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

    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    if request.scope.get("head"):
        return Response(headers=headers, media_type="text/event-stream")  # which has no end
    last = None if last_event_id is None else Last(last_event_id)
    known = last.output if last is not None and last.output is not None else (attempt, after)
    watch = None if job is None else JobWatch(job, run=attempt, known=known)
    page = Page(wake, queue=queue, job=watch)
    events = _events(live, page, woken, last)
    return StreamingResponse(events, headers=headers, media_type="text/event-stream")


class Last:
    """The id of the last event that a page has got: of which server, what it had heard of by then, and how
    much of the output of which attempt.
    """

    __slots__ = ("epoch", "output", "version")

    def __init__(self, text: str) -> None:
        match = re.fullmatch(r"([0-9a-f]{8})-([0-9]{1,15})(?:-([0-9]{1,15})-([0-9]{1,15}))?", text)
        self.epoch = match[1] if match else ""
        self.version = int(match[2]) if match else 0
        self.output = (int(match[3]), int(match[4])) if match and match[3] else None


async def _events(live: Live, page: Page, woken: asyncio.Event, last: Last | None) -> AsyncIterator[bytes]:
    if last is not None and last.epoch == live.epoch:
        page.told = last.version  # what it has missed since then it is told as soon as somebody looks
    live.join(page)
    output = "" if last is None or last.output is None else "-{}-{}".format(*last.output)
    try:
        yield b"retry: 1000\n\n"
        if last is not None and last.epoch != live.epoch:
            yield _line(f"{live.epoch}-0{output}", "reset", {})
        while not page.closed:
            try:
                async with asyncio.timeout(_PING_S):
                    await woken.wait()
            except TimeoutError:
                yield b": ping\n\n"
                continue
            woken.clear()
            told, events = page.told, page.take()
            for event, data in events:
                if event == "changed":
                    told = page.told
                elif event == "output" and isinstance(data, dict) and data["attempt"] is not None:
                    output = f"-{data['attempt']}-{data['next']}"
                yield _line(f"{live.epoch}-{told}{output}", event, data)
    finally:
        live.leave(page)


def _line(id: str, event: str, data: object) -> bytes:
    return f"id: {id}\nevent: {event}\ndata: {json.dumps(data)}\n\n".encode()

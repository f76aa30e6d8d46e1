"""What jobs printed: as a file with ranges, and in pieces for a page that shows it while it grows."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import Annotated

from fastapi import APIRouter, Header, Query, Response
from fastapi.responses import JSONResponse, StreamingResponse

from queuectl.core.chunks import GAP, STDERR, STDOUT, Chunk
from queuectl.core.job import Attempt, Job
from queuectl.core.states import PROCESSING
from queuectl.errors import NotFound
from queuectl.outputs import has_output, lies_elsewhere, live_output, stored_output
from queuectl.queue import Queue
from queuectl.web import models
from queuectl.web.problems import Problem
from queuectl.web.reading import FromPool

router = APIRouter(tags=["output"])
_STREAMS = {STDOUT: "stdout", STDERR: "stderr", GAP: "gap"}
_TAIL = 256 * 1024
_MOST = 1024 * 1024  # bytes of output in one answer

Run = Annotated[int | None, Query(ge=1, le=2**53, alias="attempt")]


def find(queue: Queue, job: Job, run: int | None) -> tuple[int | None, Attempt | None]:
    """Which attempt is meant: the one asked for, else the one that runs, else the last that printed."""
    attempts = queue.attempts(job)
    running = job.state == PROCESSING
    if run is None:
        if running:
            return job.runs, None
        printed = [one for one in attempts if has_output(queue, job, one)]
        last = (printed or list(attempts) or [None])[-1]
        return (None, None) if last is None else (last.run, last)
    for attempt in attempts:
        if attempt.run == run:
            return run, attempt
    if running and run == job.runs:
        return run, None
    raise NotFound(f"job {job.id} has no attempt {run}", "see its attempts")


def chunks_of(queue: Queue, job: Job, run: int | None, attempt: Attempt | None) -> Iterator[Chunk]:
    if run is None:
        return iter(())
    return live_output(queue, job) if attempt is None else stored_output(queue, job, attempt)


# --- as a file --------------------------------------------------------------------------------------


@router.get("/jobs/{id}/output", response_class=Response, **models.gives_text())
def download(
    pool: FromPool,
    id: str,
    attempt: Run = None,
    stream: Annotated[str | None, Query(pattern="^(stdout|stderr)$")] = None,
    range: Annotated[str | None, Header(alias="Range")] = None,
) -> Response:
    """The output as it is, never as anything that a browser would show."""
    with pool.queue() as queue:
        job = queue.get(id)
        run, found = find(queue, job, attempt)
        wanted = [
            c.data
            for c in chunks_of(queue, job, run, found)
            if c.stream != GAP and stream in (None, _STREAMS[c.stream])
        ]
    size = sum(map(len, wanted))
    headers = {
        "Content-Disposition": f'attachment; filename="{job.id}-{run or 0}.txt"',
        "Accept-Ranges": "bytes",
    }
    part = _range(range, size)
    if part is None:
        headers["Content-Length"] = str(size)
        return StreamingResponse(iter(wanted), 200, headers, media_type="text/plain; charset=utf-8")
    first, last = part
    headers |= {"Content-Length": str(last - first + 1), "Content-Range": f"bytes {first}-{last}/{size}"}
    return StreamingResponse(
        _cut(wanted, first, last + 1), 206, headers, media_type="text/plain; charset=utf-8"
    )


def _range(header: str | None, size: int) -> tuple[int, int] | None:
    """The one range that is asked for; None: all of it. What we do not know we may ignore."""
    match = re.fullmatch(r"bytes=(\d{0,18})-(\d{0,18})", header or "")
    if match is None or match.groups() == ("", ""):
        return None
    begin, end = match.groups()
    first = max(size - int(end), 0) if not begin else int(begin)
    last = size - 1 if not begin or not end else min(int(end), size - 1)
    if first > last:
        raise Problem(416, "no_such_range", f"there are {size:,} bytes", "ask for some of these")
    return first, last


def _cut(pieces: list[bytes], start: int, end: int) -> Iterator[bytes]:
    at = 0
    for piece in pieces:
        if at < end and at + len(piece) > start:
            yield piece[max(start - at, 0) : end - at]
        at += len(piece)


# --- in pieces --------------------------------------------------------------------------------------


@router.get("/jobs/{id}/output/pieces", **models.gives(models.Output))
def pieces(
    pool: FromPool,
    id: str,
    attempt: Run = None,
    after: Annotated[int, Query(ge=0, le=2**53)] = 0,
    tail: Annotated[int, Query(ge=0, le=_MOST)] = _TAIL,
) -> JSONResponse:
    """The output behind the first `after` bytes; from the beginning, at most the last `tail`."""
    with pool.queue() as queue:
        job = queue.get(id)
        return JSONResponse(some_output(queue, job, *find(queue, job, attempt), after=after, tail=tail))


def some_output(
    queue: Queue, job: Job, run: int | None, attempt: Attempt | None, *, after: int, tail: int = _TAIL
) -> dict[str, object]:
    found = list(chunks_of(queue, job, run, attempt))
    size = sum(len(chunk.data) for chunk in found if chunk.stream != GAP)
    start = after if after else max(size - tail, 0)
    reader, at, sent = Pieces(), 0, 0
    for chunk in found:
        skip = max(start - at, 0)
        at += 0 if chunk.stream == GAP else len(chunk.data)
        if sent < _MOST and (at > start or (chunk.stream == GAP and at >= start)):
            sent += reader.add(chunk, skip)
    elsewhere = attempt is not None and lies_elsewhere(queue, attempt)
    return {
        "attempt": run,
        "running": run is not None and attempt is None,
        "pieces": reader.shown,
        "next": max(min(start + sent, size), min(after, size)),
        "skipped": start if not after else 0,
        "note": f"only the end is here; the whole log is on {attempt.host}"
        if elsewhere and attempt
        else None,
    }


class Pieces:
    """Output as a page gets it. A character may be spread over two pieces of a stream."""

    def __init__(self) -> None:
        self.shown: list[dict[str, object]] = []
        self._decoders = {stream: codecs.getincrementaldecoder("utf-8")("replace") for stream in _STREAMS}

    def add(self, chunk: Chunk, skip: int = 0) -> int:
        """Show a chunk but for its first bytes; how many bytes of output that were."""
        data = chunk.data if chunk.stream == GAP else chunk.data[skip:]
        name = _STREAMS.get(chunk.stream, "gap")
        text = self._decoders[GAP if name == "gap" else chunk.stream].decode(data)
        if text or name == "gap":
            self.shown.append({"stream": name, "at": chunk.offset_ms, "text": text})
        return 0 if chunk.stream == GAP else len(data)

    def take(self) -> list[dict[str, object]]:
        shown, self.shown = self.shown, []
        return shown

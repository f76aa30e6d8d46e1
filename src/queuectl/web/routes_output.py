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
from queuectl.web import answers
from queuectl.web.describing import gives, gives_text
from queuectl.web.problems import Problem
from queuectl.web.reading import FromPool

router = APIRouter(tags=["output"])
_STREAMS = {STDOUT: "stdout", STDERR: "stderr", GAP: "gap"}
_TAIL = 256 * 1024
MOST = 1024 * 1024  # bytes of output in one answer
_CHARACTER = 4  # bytes of the longest

Run = Annotated[int | None, Query(ge=1, le=2**53, alias="attempt")]


def find(queue: Queue, job: Job, run: int | None) -> tuple[int | None, Attempt | None]:
    """Which attempt is meant: the one asked for, else the one that runs, else the last that printed."""
    attempts = queue.attempts(job)
    running = job.state == PROCESSING
    if run is None:
        if running:
            return job.runs, None
        printed = [one for one in attempts if has_output(queue, job, one)]
        found = printed or list(attempts)
        return (found[-1].run, found[-1]) if found else (None, None)
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


@router.get("/jobs/{id}/output", response_class=Response, **gives_text())
def download(
    pool: FromPool,
    id: str,
    attempt: Run = None,
    stream: Annotated[str | None, Query(pattern="^(stdout|stderr)$")] = None,
    range: Annotated[str | None, Header(alias="Range")] = None,
    if_range: Annotated[str | None, Header(alias="If-Range", include_in_schema=False)] = None,
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
    # We give no tags or dates that If-Range could name: whatever it names is not what we have.
    part = _range(range if if_range is None else None, size)
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
    if begin and end and int(begin) > int(end):
        return None  # no range at all
    first = max(size - int(end), 0) if not begin else int(begin)
    last = size - 1 if not begin or not end else min(int(end), size - 1)
    if first > last:
        raise Problem(
            416,
            "no_such_range",
            f"there are {size:,} bytes",
            "ask for some of these",
            {"Content-Range": f"bytes */{size}"},
        )
    return first, last


def _cut(pieces: list[bytes], start: int, end: int) -> Iterator[bytes]:
    at = 0
    for piece in pieces:
        if at < end and at + len(piece) > start:
            yield piece[max(start - at, 0) : end - at]
        at += len(piece)


# --- in pieces --------------------------------------------------------------------------------------


@router.get("/jobs/{id}/output/pieces", **gives(answers.Output))
def pieces(
    pool: FromPool,
    id: str,
    attempt: Run = None,
    after: Annotated[int, Query(ge=0, le=2**53)] = 0,
    tail: Annotated[int, Query(ge=0, le=MOST)] = _TAIL,
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
    start = min(after, size) if after else max(size - tail, 0)
    reader = Pieces(skip=start)
    for chunk in found:
        if reader.seen >= MOST:
            break
        reader.add(chunk)
    if attempt is not None and 0 < reader.seen == size - start:
        reader.finish()
    elsewhere = attempt is not None and lies_elsewhere(queue, attempt)
    return {
        "attempt": run,
        "running": run is not None and attempt is None,
        "pieces": reader.take(),
        "next": start + reader.seen,
        "skipped": start if not after else 0,
        "note": f"only the end is here; the whole log is on {attempt.host}"
        if elsewhere and attempt
        else None,
    }


class Pieces:
    """Output as a page gets it, behind the first `skip` bytes. A character may be spread over two pieces of a
    stream, and over two answers: what is skipped is read too, so that its second half is not taken for dirt.
    """

    def __init__(self, skip: int = 0) -> None:
        self._shown: list[dict[str, object]] = []
        self._skip = skip
        self.seen = 0  # bytes behind those
        self._decoders = {
            stream: codecs.getincrementaldecoder("utf-8")("replace") for stream in (STDOUT, STDERR)
        }

    def add(self, chunk: Chunk) -> None:
        if chunk.stream == GAP:
            if not self._skip:
                self._show(GAP, chunk.offset_ms, chunk.data.decode("ascii", "replace"))
            return
        decoder = self._decoders[chunk.stream]
        skip = min(self._skip, len(chunk.data))
        self._skip -= skip
        decoder.decode(chunk.data[max(skip - _CHARACTER, 0) : skip])
        text = decoder.decode(chunk.data[skip:])
        self.seen += len(chunk.data) - skip
        if text:
            self._show(chunk.stream, chunk.offset_ms, text)

    def finish(self) -> None:
        """Nothing more comes: half a character stays one."""
        for stream, decoder in self._decoders.items():
            text = decoder.decode(b"", final=True)
            if text:
                self._show(stream, int(str(self._shown[-1]["at"])) if self._shown else 0, text)

    def _show(self, stream: int, at: int, text: str) -> None:
        self._shown.append({"stream": _STREAMS[stream], "at": at, "text": text})

    def take(self) -> list[dict[str, object]]:
        shown, self._shown = self._shown, []
        return shown

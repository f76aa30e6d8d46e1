"""The dashboard's page and what it is made of: a fixed set of files, read once. And /metrics."""

from __future__ import annotations

import os
from functools import cache
from hashlib import sha256

from fastapi import APIRouter, Request
from fastapi.responses import Response

from queuectl.web.problems import Problem
from queuectl.web.reading import FromPool

router = APIRouter(include_in_schema=False)
_FOLDER = os.path.join(os.path.dirname(__file__), "static")
_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}


class File:
    """One of them, ready to be sent."""

    __slots__ = ("data", "kind", "tag")

    def __init__(self, data: bytes, kind: str) -> None:
        self.data = data
        self.kind = kind
        self.tag = f'"{sha256(data).hexdigest()[:16]}"'


@cache
def files() -> dict[str, File]:
    """By name. Nothing else can be asked for, whatever a path says."""
    found = {}
    for name in os.listdir(_FOLDER):
        kind = _KINDS.get(os.path.splitext(name)[1])
        if kind is not None:
            with open(os.path.join(_FOLDER, name), "rb") as file:
                found[name] = File(file.read(), kind)
    return found


def _send(request: Request, name: str) -> Response:
    file = files().get(name)
    if file is None:
        raise Problem(404, "not_found", "there is no such file")
    headers = {"ETag": file.tag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == file.tag:
        return Response(status_code=304, headers=headers)
    return Response(file.data, media_type=file.kind, headers=headers)


@router.get("/")
def page(request: Request) -> Response:
    return _send(request, "index.html")


@router.get("/static/{name}")
def static(request: Request, name: str) -> Response:
    return _send(request, name)


@router.get("/metrics")
def metrics(pool: FromPool) -> Response:
    from queuectl.metrics.exposition import CONTENT_TYPE, exposition

    with pool.queue() as queue:
        text = exposition(queue, pool=pool)
    return Response(text, media_type=CONTENT_TYPE)

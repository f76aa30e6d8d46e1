"""Errors as answers: problem+json (RFC 9457), with the code, the words and the hint of the command line."""

from __future__ import annotations

import json

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from queuectl.errors import DuplicateId, InvalidInput, NotFound, QueuectlError, Refused, StoreAway, StoreBusy

MEDIA_TYPE = "application/problem+json"

# The first that fits.
_STATUS: tuple[tuple[type[QueuectlError], int], ...] = (
    (DuplicateId, 409),
    (InvalidInput, 422),
    (NotFound, 404),
    (Refused, 409),
    (StoreBusy, 503),
    (StoreAway, 503),
)
_TITLES = {
    400: "The request cannot be read",
    401: "A token is needed",
    403: "Not allowed",
    404: "There is no such thing",
    405: "Not with this method",
    408: "Too slow",
    409: "Its state does not allow it",
    413: "Too large",
    415: "Another form is needed",
    416: "No such range",
    421: "Asked by another name",
    422: "The request cannot be taken",
    429: "Too many requests",
    500: "Something failed",
    503: "The store cannot be used now",
}
_CODES = {
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
}


class Problem(Exception):
    """An answer that is an error of the request itself, not of the queue."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        hint: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.hint = hint
        self.headers = headers or {}

    def answer(self, headers: dict[str, str] | None = None) -> JSONResponse:
        body = {
            "type": f"urn:queuectl:problem:{self.code}",
            "title": _TITLES.get(self.status, "Something failed"),
            "status": self.status,
            "code": self.code,
            "detail": self.detail,
            "hint": self.hint,
        }
        more = {**self.headers, **(headers or {})}
        # ASCII: what is wrong with a request may be that it holds something that is no text.
        return _Ascii(body, self.status, more, media_type=MEDIA_TYPE)


class _Ascii(JSONResponse):
    def render(self, content: object) -> bytes:
        return json.dumps(content).encode()


def problem_of(error: QueuectlError) -> Problem:
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
    return Problem(status, error.code, error.message, error.hint)


def install(app: FastAPI) -> None:
    """Have every error answered so."""

    @app.exception_handler(Problem)
    def _own(_: Request, error: Problem) -> JSONResponse:
        return error.answer()

    @app.exception_handler(QueuectlError)
    def _ours(_: Request, error: QueuectlError) -> JSONResponse:
        problem = problem_of(error)
        return problem.answer({"Retry-After": "1"} if problem.status == 503 else None)

    @app.exception_handler(RequestValidationError)
    def _unreadable(_: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"][1:]) or str(first["loc"][0])
        return Problem(422, "invalid_input", f"{place}: {first['msg']}"[:500]).answer()

    @app.exception_handler(HTTPException)
    def _http(_: Request, error: HTTPException) -> JSONResponse:
        if error.status_code == 404:
            hint = "GET /api/v1/openapi.json shows all there is"
            return Problem(404, "not_found", "there is nothing at this address", hint).answer()
        code = _CODES.get(error.status_code, "failed")
        headers = dict(error.headers) if error.headers else None
        return Problem(error.status_code, code, str(error.detail)).answer(headers)

    @app.exception_handler(Exception)
    def _unexpected(_: Request, error: Exception) -> JSONResponse:
        hint = "this is a bug; the server's own messages show where it is"
        return Problem(500, "failed", f"internal error: {type(error).__name__}", hint).answer()

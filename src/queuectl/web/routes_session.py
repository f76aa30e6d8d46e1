"""Coming in with a browser: a one-time code or a token becomes a cookie that no script can read."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from queuectl import __version__
from queuectl.errors import InvalidInput
from queuectl.web import answers, bodies
from queuectl.web.describing import gives, gives_nothing
from queuectl.web.reading import FromPool, JsonObject, take
from queuectl.web.tokens import SESSION_MS, Grant

router = APIRouter(tags=["session"])


@router.post("/session", **gives(answers.Session, body=bodies.LOGIN))
def come_in(request: Request, pool: FromPool, body: JsonObject) -> JSONResponse:
    """With the code of the link that the server printed, or with a token."""
    token, code = take(body, token=str, code=str)
    if (token is None) == (code is None):
        raise InvalidInput("a token or a code is needed", 'like {"token": "…"}')
    state = request.app.state
    found = state.tokens.redeem(code) if code is not None else state.tokens.check(token)
    # A code is made by us, whatever was done about the token: it cannot be guessed either.
    grant = found if code is not None and found is not None else state.guard.known(request.scope, found)
    response = JSONResponse(_document(request, pool, grant))
    response.set_cookie(
        state.guard.cookie,
        state.tokens.session(grant),
        max_age=SESSION_MS // 1000,
        httponly=True,
        samesite="strict",
        secure=state.secure,
        path="/",
    )
    return response


@router.get("/session", **gives(answers.Session))
def who(request: Request, pool: FromPool) -> JSONResponse:
    """What this token may do, and where it is."""
    grant = request.state.grant
    assert isinstance(grant, Grant)
    return JSONResponse(_document(request, pool, grant))


@router.delete("/session", status_code=204, **gives_nothing())
def leave(request: Request) -> Response:
    """Log out: the browser forgets its cookie, and a copy of it is worth nothing any more."""
    state = request.app.state
    for session in state.guard.sessions(request.headers.getlist("cookie")):
        state.tokens.end_session(session)
    response = Response(status_code=204)
    response.delete_cookie(
        state.guard.cookie, path="/", httponly=True, samesite="strict", secure=state.secure
    )
    return response


def _document(request: Request, pool: FromPool, grant: Grant) -> dict[str, object]:
    with pool.queue() as queue:
        location = queue.store.location
    return {
        "scope": grant.scope,
        "version": __version__,
        "store": location.shown,
        "engine": location.engine,
        "read_only": bool(request.app.state.read_only),
    }

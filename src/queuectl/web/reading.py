"""What a request says: its JSON, its filter, its cursor. All of it is checked as the command line's is."""

from __future__ import annotations

import base64
import json
from typing import Annotated, Any

from fastapi import Depends, Query, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from queuectl.core.strictjson import MalformedJson, load_json
from queuectl.errors import InvalidInput
from queuectl.selecting import make_filter
from queuectl.store.messages import JobFilter
from queuectl.web.pool import Pool
from queuectl.web.problems import Problem

_DEEPEST = 32


def pool_of(request: Request) -> Pool:
    found = request.app.state.pool
    assert isinstance(found, Pool)
    return found


FromPool = Annotated[Pool, Depends(pool_of)]


def trace_of(request: Request) -> dict[str, str]:
    """The caller's trace, named as in an environment."""
    names = ("traceparent", "tracestate")
    return {name.upper(): request.headers[name] for name in names if name in request.headers}


FromTrace = Annotated[dict[str, str], Depends(trace_of)]


def known_query(request: Request) -> None:
    """Refuse parameters that a route does not have: a misspelled filter would mean every job."""
    route = request.scope.get("route")
    if not isinstance(route, APIRoute):
        return
    known = sorted(_query_names(route.dependant))
    for name in request.query_params:
        if name not in known:
            hint = "known: " + ", ".join(known) if known else "there are none here"
            raise InvalidInput(f"unknown parameter {name[:60]!r}", hint)


def _query_names(dependant: Dependant) -> set[str]:
    own = {field.alias for field in dependant.query_params}
    return own.union(*map(_query_names, dependant.dependencies))


async def json_object(request: Request) -> dict[str, Any]:
    """The body, which must be an object; nothing at all is an empty one."""
    raw = await request.body()
    if not raw.strip():
        return {}
    try:
        value = load_json(raw.decode())
    except UnicodeDecodeError:
        raise Problem(400, "malformed", "the body is not UTF-8", "JSON is UTF-8") from None
    except MalformedJson as error:
        raise Problem(400, "malformed", error.message, "send one JSON object") from None
    if not isinstance(value, dict):
        raise InvalidInput("the body must be an object", 'like {"command": "echo hi"}')
    _refuse_depth(value)
    return value


JsonObject = Annotated[dict[str, Any], Depends(json_object)]


def _refuse_depth(value: object, depth: int = 0) -> None:
    if depth > _DEEPEST:
        raise InvalidInput("the JSON is nested too deeply", "a job is one flat object")
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            _refuse_depth(one, depth + 1)


def take(body: dict[str, Any], **kinds: type | tuple[type, ...]) -> list[Any]:
    """The fields of a body in this order, None where one is missing; others are refused."""
    for name in body:
        if name not in kinds:
            raise InvalidInput(f"unknown field {name[:60]!r}", "known: " + ", ".join(kinds))
    found = []
    for name, kind in kinds.items():
        value = body.get(name)
        wrong = isinstance(value, bool) and bool not in (kind if isinstance(kind, tuple) else (kind,))
        if value is not None and (wrong or not isinstance(value, kind)):
            raise InvalidInput(f"{name} has a wrong type", "see the OpenAPI document")
        found.append(value)
    return found


# --- filters ----------------------------------------------------------------------------------------


def encode_cause(cause: tuple[int | None, int | None, str | None]) -> str:
    return base64.urlsafe_b64encode(json.dumps(cause).encode()).decode().rstrip("=")


def decode_cause(text: str | None) -> tuple[int | None, int | None, str | None] | None:
    if text is None:
        return None
    try:
        exit_code, signal, error = json.loads(
            base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        )
        _fits(exit_code, int)
        _fits(signal, int)
        _fits(error, str)
        (error or "").encode()
    except (ValueError, TypeError, RecursionError):
        raise InvalidInput("cause is not one that we gave", "take it from /dead-letters/groups") from None
    return exit_code, signal, error


def _fits(value: object, kind: type) -> None:
    wrong = not isinstance(value, kind) or isinstance(value, bool)
    if value is not None and (wrong or (isinstance(value, int) and abs(value) > 2**31)):
        raise ValueError


def query_filter(
    request: Request,
    state: Annotated[list[str] | None, Query(description="repeatable, or a comma list")] = None,
    queue: Annotated[str | None, Query(max_length=200)] = None,
    tag: Annotated[str | None, Query(max_length=200)] = None,
    search: Annotated[str | None, Query(max_length=1_000, description="in the command or id")] = None,
    since: Annotated[str | None, Query(max_length=60, description="10m (ago), or a time")] = None,
    before: Annotated[str | None, Query(max_length=60)] = None,
    held: Annotated[bool | None, Query()] = None,
    cause: Annotated[str | None, Query(max_length=10_000, description="of /dead-letters/groups")] = None,
) -> JobFilter:
    words = {"queue": queue, "tag": tag, "search": search, "since": since, "before": before}
    return _filter(state, words, held, cause, now=request.app.state.clock.now())


def _filter(
    states: list[str] | None, words: dict[str, str | None], held: bool | None, cause: str | None, *, now: int
) -> JobFilter:
    found = make_filter(now=now, states=states, sign="", **words)
    found.held, found.cause = held, decode_cause(cause)
    return found


QueryFilter = Annotated[JobFilter, Depends(query_filter)]


def body_filter(body: dict[str, Any], *, now: int) -> JobFilter:
    """The same restrictions in a request's body."""
    names = ("queue", "tag", "search", "since", "before")
    states, held, cause, *given = take(
        body, state=(list, str), held=bool, cause=str, **dict.fromkeys(names, str)
    )
    states = [states] if isinstance(states, str) else states
    if states is not None and not all(isinstance(state, str) for state in states):
        raise InvalidInput("state must be a list of states", 'like ["dead"]')
    return _filter(states, dict(zip(names, given, strict=True)), held, cause, now=now)


# --- cursors ----------------------------------------------------------------------------------------


def encode_cursor(order: str, place: int) -> str:
    return base64.urlsafe_b64encode(json.dumps([order, place]).encode()).decode().rstrip("=")


def decode_cursor(text: str | None, order: str) -> int | None:
    """Where the last page ended. One of another order is refused."""
    if text is None:
        return None
    try:
        value = json.loads(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True))
        known, number = value
        if known != order or isinstance(number, bool) or not isinstance(number, int):
            raise ValueError
        if not 0 <= number < 2**53:
            raise ValueError
    except (ValueError, TypeError, RecursionError):
        raise InvalidInput("cursor is not one of this list", "take it from `next` of the last page") from None
    return number

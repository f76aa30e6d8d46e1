"""What requests and answers look like, for the OpenAPI document.

Answers are not made by these: they are the documents of every interface, and a test holds them against this.
Requests are checked by the same code as the command line's words.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from queuectl.core import states
from queuectl.core.fields import FIELDS
from queuectl.editing import CLEARABLE, EDITABLE

State = Literal["pending", "scheduled", "blocked", "processing", "failed", "completed", "dead", "cancelled"]
assert set(State.__args__) == set(states.ALL)  # type: ignore[attr-defined]


class Open(BaseModel):
    """More fields may come with later versions."""

    model_config = ConfigDict(extra="allow")


class Problem(Open):
    """RFC 9457."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    hint: str | None


class Job(Open):
    id: str
    number: int
    command: str
    argv: list[str] | None
    queue: str
    state: State
    priority: int
    attempts: int
    max_retries: int
    timeout: float | None
    run_at: str
    next_run_at: str | None
    tags: list[str]
    env: dict[str, str]
    cwd: str | None
    created_at: str
    updated_at: str
    started_at: str | None
    finished_at: str | None
    exit_code: int | None
    signal: int | None
    last_error: str | None
    worker_id: str | None


class Death(Open):
    """How an attempt that failed has died, in words."""

    cause: str
    text: str
    hint: str | None
    used: str | None
    stderr: list[str]


class Attempt(Open):
    attempt: int
    started_at: str | None
    finished_at: str | None
    outcome: str
    exit_code: int | None
    signal: int | None
    worker_id: str | None
    error: str | None


class ReportedAttempt(Attempt):
    report: Death | None


class JobDocument(Job):
    usual_seconds: float | None
    history: list[ReportedAttempt]
    command_line: str


class Attempts(Open):
    attempts: list[Attempt]


class Page(Open):
    jobs: list[Job]
    next: str | None
    total: int | None


class Ids(Open):
    count: int
    ids: list[str]


class Deleted(Open):
    deleted: int


class Done(Open):
    action: str
    dry_run: bool
    count: int
    ids: list[str]


class Reason(Open):
    code: str
    text: str
    remedy: str | None
    when: str | None


class Explanation(Open):
    id: str
    state: State
    verdict: str
    reasons: list[Reason]
    story: list[str]


class Piece(Open):
    stream: Literal["stdout", "stderr", "gap"]
    at: int
    text: str


class Output(Open):
    attempt: int | None
    running: bool
    pieces: list[Piece]
    next: int
    skipped: int
    note: str | None


class CauseGroup(Open):
    cause: str
    title: str
    error: str | None
    exit_code: int | None
    signal: int | None
    count: int
    queues: list[str]
    first_at: str | None
    last_at: str | None
    example: str | None


class Causes(Open):
    groups: list[CauseGroup]
    total: int


class Queue(Open):
    name: str
    concurrency: int | None
    rate: str | None
    paused: bool
    draining: bool
    pause_reason: str | None
    jobs: dict[str, int]
    running: int
    oldest_waiting_seconds: float | None
    workers: int


class Queues(Open):
    queues: list[Queue]


class Schedule(Open):
    name: str
    schedule: str
    zone: str
    in_words: str
    catch_up: str
    overlap: str
    job: dict[str, Any]
    paused: bool
    next_at: str | None
    last_at: str | None
    last_job: str | None
    next_times: list[str]


class Schedules(Open):
    schedules: list[Schedule]


class Worker(Open):
    id: str
    pid: int
    host: str
    state: Literal["idle", "busy", "stopping"]
    concurrency: int
    running: int
    queues: list[str] | None
    memory_kb: int | None
    started_at: str
    last_heartbeat: str


class Workers(Open):
    workers: list[Worker]


class Setting(Open):
    value: Any
    origin: str


class Foresight(Open):
    by: Literal["commands", "queues", "mixed", "throughput"] | None
    known_percent: int | None
    not_served: int
    paused: int


class Stats(Open):
    jobs: dict[str, int]
    total: int
    workers: int
    slots: int
    oldest_waiting_seconds: float | None
    throughput_per_minute: float
    drain_seconds: float | None
    eta_seconds: float | None
    eta: Foresight
    failed_last_hour: int
    completed_last_hour: int
    paused_queues: list[str]
    version: str


class Percentiles(Open):
    p50: list[float | None]
    p95: list[float | None]


class History(Open):
    range: str
    queue: str | None
    step_seconds: int
    times: list[int]
    completed: list[int]
    dead: list[int]
    failed: list[int]
    cancelled: list[int]
    enqueued: list[int]
    depth: dict[str, list[float | None]]
    wait: Percentiles
    run: Percentiles


class Session(Open):
    scope: Literal["read", "admin"]
    version: str
    store: str
    engine: str
    read_only: bool


# --- requests ---------------------------------------------------------------------------------------

_TEXT = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0}
_SPAN = {"type": ["string", "number"], "description": "seconds, or like 10m"}
_CODES = {"type": ["string", "integer", "array"], "description": "exit codes, like 1,2,10-20"}
_LIST = {"type": ["array", "string"], "items": _TEXT}
_KINDS: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("id", "command", "queue", "cwd", "run_at", "backoff_strategy"), _TEXT),
    **dict.fromkeys(("unique_key", "if_live", "group", "name"), _TEXT),
    "on_success": {"description": "a command, or the fields of a job"},
    "on_failure": {"description": "a command, or the fields of a job"},
    **dict.fromkeys(
        ("max_retries", "max_attempts", "max_tries", "group_limit", "files", "processes"), _COUNT
    ),
    **dict.fromkeys(("delay", "backoff_max", "retry_delay", "cpu_time"), _SPAN),
    "timeout": {
        "type": ["string", "number"],
        "description": "seconds, or like 10m; 300%: of its usual run time",
    },
    "timeout_percent": {"type": ["string", "integer"], "description": "of its usual run time, once known"},
    **dict.fromkeys(("tags", "after", "depends_on", "after_any", "after_fail"), _LIST),
    **dict.fromkeys(("retry_on", "no_retry_on", "ok_codes"), _CODES),
    "memory": {"type": ["string", "integer"], "description": "bytes, or like 512M"},
    "needs": {"type": ["string", "array", "object"], "description": "resources of a worker: gpu=1"},
    "argv": {"type": "array", "items": _TEXT},
    "priority": {"type": "integer"},
    "nice": {"type": "integer"},
    "backoff_base": {"type": "number"},
    "env": {"type": "object", "additionalProperties": _TEXT},
    "hold": {"type": "boolean"},
    "notify": {**_TEXT, "description": "a command that is told of its end, or none"},
    "notify_on": {**_LIST, "description": "of which ends: completed, dead, cancelled, any"},
    "input": {**_TEXT, "description": "what its command reads"},
}


def _object(properties: dict[str, Any], required: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    result = {"type": "object", "properties": properties, "additionalProperties": False, **more}
    return result | ({"required": list(required)} if required else {})


def _nullable(kind: dict[str, Any]) -> dict[str, Any]:
    types = kind.get("type")
    if types is None:
        return kind
    return {**kind, "type": [*(types if isinstance(types, list) else [types]), "null"]}


JOB_FIELDS = _object({name: _KINDS.get(name, {}) for name in FIELDS})
CHANGES = _object(
    {n: _nullable(_KINDS.get(n, {})) if n in CLEARABLE else _KINDS.get(n, {}) for n in EDITABLE}
)
BATCH = _object(
    {
        "jobs": {"type": "array", "minItems": 1, "items": {"anyOf": [_TEXT, JOB_FIELDS]}},
        "if_exists": {"enum": ["fail", "skip"]},
    },
    ("jobs",),
)
_FILTER = _object(
    {
        "state": {"type": ["array", "string"], "items": _TEXT},
        **dict.fromkeys(("queue", "tag", "search", "since", "before", "cause"), _TEXT),
        "held": {"type": "boolean"},
    }
)
ACTION = _object(
    {
        "action": {"enum": ["cancel", "retry", "delete", "hold", "release", "edit"]},
        "ids": {"type": "array", "items": _TEXT},
        "filter": _FILTER,
        "all": {"type": "boolean"},
        "dry_run": {"type": "boolean"},
        "changes": CHANGES,
    },
    ("action",),
)
PAUSE = _object({"reason": _nullable(_TEXT), "until": _nullable(_TEXT)})
RULES = (
    *("concurrency", "rate", "burst", "timeout", "timeout_percent", "max_retries"),
    *("backoff_strategy", "backoff_base", "backoff_max", "retry_delay", "notify", "notify_on"),
)
QUEUE_RULES = _object({name: {} for name in RULES})
SCHEDULE = _object(
    {
        **dict.fromkeys(("recurrence", "time_zone", "catch_up", "overlap"), _TEXT),
        "job": JOB_FIELDS,
    },
    ("recurrence", "job"),
)
SETTING = _object({"value": {"type": ["string", "number", "boolean"]}}, ("value",))
LOGIN = _object({"token": _TEXT, "code": _TEXT})


# --- for the routes ---------------------------------------------------------------------------------

_PROBLEM = {
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
    "description": "What is wrong, and what to do about it",
}
_ERRORS: dict[int | str, dict[str, Any]] = dict.fromkeys(
    (400, 401, 403, 404, 405, 408, 409, 413, 415, 421, 422, 429, 503), _PROBLEM
)


def gives(model: type[BaseModel], *statuses: int, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """For a route: what it answers, and what it takes."""
    answers: dict[int | str, dict[str, Any]] = {status: {"model": model} for status in statuses or (200,)}
    result: dict[str, Any] = {"responses": {**_ERRORS, **answers}}
    if body is not None:
        content = {"application/json": {"schema": body}}
        result["openapi_extra"] = {"requestBody": {"required": True, "content": content}}
    return result


def gives_text() -> dict[str, Any]:
    text = {"content": {"text/plain": {"schema": {"type": "string"}}}}
    return {
        "responses": {
            **_ERRORS,
            200: {**text, "description": "All of it"},
            206: {**text, "description": "A part"},
            416: _PROBLEM,
        }
    }


def gives_nothing(status: int = 204) -> dict[str, Any]:
    return {"responses": {**_ERRORS, status: {"description": "Done"}}}

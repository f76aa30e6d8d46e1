"""What answers look like, for the OpenAPI document.

They are not made by these: they are the documents of every interface, and a test holds them against this.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from queuectl.core import states

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

"""The soak: half an hour of everyday work, in which nothing may grow.

A trickle of jobs, some of which fail at first, a schedule that fires every second, a dashboard that is asked,
somebody who follows the output of a job that never ends. It is light: the other parts run beside it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from tests.support.dashboard import Server
from tests.support.home import Home
from tests.support.processes import is_running

from proof.checker import LOG, RunLog, examine, recorded, settle
from proof.soak_samples import Sampler
from proof.verdict import Part
from queuectl import Queue
from queuectl.errors import StoreError
from queuectl.testing import wait_until

WORKERS = 2
MOST_GROWTH = 1.0  # MB per hour
MOST_WAL = 16 << 20  # bytes
FEW_SAMPLES = 100
FAILS_AT_FIRST = 'test "$QUEUECTL_ATTEMPT" -gt 1'
CHATS = "while ! test -e enough; do echo still there; sleep 1; done"
ASKED = ("stats", "jobs", "workers", "queues", "schedules")  # of the dashboard


@dataclass(frozen=True)
class Plan:
    """How long, and how often what is done."""

    seconds: float
    warm_up: float
    rush: float  # at the beginning of the warm-up: so many jobs that all caches are filled
    between_rushed: float
    between_jobs: float
    between_samples: float
    between_questions: float  # to the dashboard


# The warm-up lasts until every kind of upkeep has been done once (the rarest comes every ten minutes), and
# until SQLite's page caches are full: each holds up to 2 MB, which takes about 10,000 jobs.
FULL = Plan(
    seconds=1800,
    warm_up=690,
    rush=450,
    between_rushed=0.04,
    between_jobs=0.4,
    between_samples=5,
    between_questions=5,
)
QUICK = Plan(
    seconds=4,
    warm_up=1,
    rush=1,
    between_rushed=0.05,
    between_jobs=0.1,
    between_samples=0.2,
    between_questions=0.5,
)


@dataclass
class Scene:
    """One installation at work, and who looks at it."""

    home: Home
    log: Path
    queue: Queue
    server: Server
    sampler: Sampler
    acknowledged: list[str] = field(default_factory=list)
    answers: int = 0
    refused: list[str] = field(default_factory=list)  # enqueues and questions that were not answered


def prove(*, full: bool) -> Part:
    return soak(FULL if full else QUICK, least_fired=0.9 if full else 0.3)


def soak(plan: Plan, *, least_fired: float) -> Part:
    part = Part("soak")
    with _scene(plan) as scene:
        _work(scene, plan)
        share = scene.sampler.share_of_a_core() + time.process_time() / plan.seconds
        _end(scene)
        part.verdict = examine(scene.home, scene.acknowledged, RunLog(scene.log))
        part.row(
            "minutes of everyday work", f"{plan.seconds / 60:.1f}, of them {plan.warm_up / 60:.1f} of warm-up"
        )
        part.row("jobs of the trickle", f"{len(scene.acknowledged):,}")
        fired = _count(scene.queue, "SELECT count(*) FROM jobs WHERE id LIKE 'tick-%'")
        least = round(plan.seconds * least_fired)
        part.demand("jobs of a schedule that fires every second", fired, least)
        part.row("answers of the dashboard", f"{scene.answers:,}")
        said = "; ".join([str(len(scene.refused)), *scene.refused[:1]])
        part.row("enqueues or questions that failed", said, "0", good=not scene.refused)
        _tell_growth(part, scene.sampler)
        _tell_waits(part, scene.queue)
        part.row("processor time of all of it", f"{share:.1%} of a core")
    return part


def _tell_growth(part: Part, sampler: Sampler) -> None:
    # A few seconds say nothing of an hour; then the figures are only shown.
    short = min(len(course.samples) for course in sampler.courses.values()) < FEW_SAMPLES
    how = "line of least squares through the resident memory after the warm-up"
    for kind in sampler.kinds:
        growth = max(course.growth for course in sampler.of(kind))
        most = max(course.memory for course in sampler.of(kind))
        said = f"{growth:+.2f} MB/h, at most {most:.1f} MB"
        good = short or growth < MOST_GROWTH
        part.row(f"growth of a {kind} ({how})", said, f"< {MOST_GROWTH:g} MB/h", good=good)
    for what, named in (("files", "open files"), ("threads", "threads")):
        more = {kind: max(course.more(what) for course in sampler.of(kind)) for kind in sampler.kinds}
        grown = ", ".join(f"{kind} {number:+}" for kind, number in more.items() if number > 0)
        part.row(f"{named}, more in the end", grown or "none", "none", good=short or not grown)
    part.row("the same processes all the time", "no" if sampler.gone else "yes", "yes", good=not sampler.gone)
    wal = f"{sampler.largest / (1 << 20):.1f} MB"
    part.row("largest write-ahead log", wal, f"≤ {MOST_WAL >> 20} MB", good=0 < sampler.largest <= MOST_WAL)


def _tell_waits(part: Part, queue: Queue) -> None:
    """From the enqueue to the start of the first attempt; the other parts take the processors meanwhile."""
    db: Any = queue.store.connection
    waits = sorted(
        int(wait)
        for (wait,) in db.all(
            "SELECT attempts.started_at - jobs.created_at FROM attempts JOIN jobs ON jobs.seq = job_seq"
            " WHERE run = 1 AND id LIKE 'trickle-%'"
        )
    )
    middle, late = waits[len(waits) // 2], waits[len(waits) * 99 // 100]
    part.row("from enqueue to start", f"p50 {middle} ms, p99 {late} ms, longest {waits[-1]} ms")


def _count(queue: Queue, sql: str) -> int:
    db: Any = queue.store.connection
    return int(db.all(sql)[0][0])


@contextmanager
def _scene(plan: Plan) -> Iterator[Scene]:
    with tempfile.TemporaryDirectory() as directory:
        home = Home(Path(directory) / "home")
        log = home.work / LOG
        try:
            home.configure(backoff_strategy="fixed", job_retry_delay="1s")
            home.start(count=WORKERS, concurrency=2)
            with home.queue() as queue, _followed(home, queue) as follower:
                home.ok("schedule", "add", "tick", "@every 1s", "--overlap", "allow", "--", "true")
                server = Server(home)
                processes = {
                    "worker": home.workers(),
                    "supervisor": home.supervisors(),
                    "dashboard": [server.process.pid],
                    "follower of output": [follower.pid],
                }
                wal = home.path / "queue.db-wal"
                yield Scene(home, log, queue, server, Sampler(processes, wal, warm_up=plan.warm_up))
        finally:
            home.close()


@contextmanager
def _followed(home: Home, queue: Queue) -> Iterator[subprocess.Popen[bytes]]:
    """`logs -f` of a job that goes on until the end."""
    queue.enqueue(CHATS, id="chat", cwd=str(home.work))
    with open(home.work / "followed", "wb") as file:
        follower = subprocess.Popen(
            [sys.executable, "-m", "queuectl", "logs", "-f", "chat"],
            env=home.env,
            cwd=home.work,
            stdin=subprocess.DEVNULL,
            stdout=file,
        )
    try:
        wait_until(lambda: (home.work / "followed").stat().st_size, timeout=60, what="output to follow")
        yield follower
    finally:
        follower.kill()
        follower.wait()


def _work(scene: Scene, plan: Plan) -> None:
    """All in one thread, each when it is due."""
    client = scene.server.client(base_url=scene.server.api)
    began = time.monotonic()
    due = {"job": began, "sample": began, "question": began}
    while (now := time.monotonic()) < began + plan.seconds:
        if now >= due["job"]:
            _enqueue(scene)
            due["job"] += plan.between_rushed if now < began + plan.rush else plan.between_jobs
        if now >= due["sample"]:
            scene.sampler.look()
            due["sample"] += plan.between_samples
        if now >= due["question"]:
            _ask(scene, client)
            due["question"] += plan.between_questions
        time.sleep(max(min(due.values()) - time.monotonic(), 0))


def _enqueue(scene: Scene) -> None:
    number = len(scene.acknowledged)
    id = f"trickle-{number}"
    ending = FAILS_AT_FIRST if number % 20 == 7 else "true"
    command = f"{recorded('echo done', scene.log)}; {ending}"
    try:
        scene.queue.enqueue_many(
            [{"id": id, "command": command, "cwd": str(scene.home.work)}], if_exists="skip"
        )
    except StoreError as error:  # the next time the same again
        scene.refused.append(str(error))
    else:
        scene.acknowledged.append(id)


def _ask(scene: Scene, client: httpx.Client) -> None:
    try:
        client.get(f"/{ASKED[scene.answers % len(ASKED)]}").raise_for_status()
    except httpx.HTTPError as error:
        scene.refused.append(repr(error))
    else:
        scene.answers += 1


def _end(scene: Scene) -> None:
    """Everything by its own means, so that what is left over is a fault."""
    home = scene.home
    home.ok("schedule", "rm", "tick")
    (home.work / "enough").touch()
    settle(home)
    scene.server.stop(timeout=30)
    home.ok("worker", "stop")
    scene.acknowledged.append("chat")
    wait_until(lambda: not any(map(is_running, home.pids())), timeout=60, what="all processes to end")

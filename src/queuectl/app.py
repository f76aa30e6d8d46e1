"""The composition root: settings -> store -> queue, worker. The only place that wires.

Imports are late: a supervisor needs no database driver, `enqueue` no worker.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import BinaryIO

    from queuectl.clock import Clock
    from queuectl.core.admission import Limits
    from queuectl.core.pieces import Pieces
    from queuectl.paths import Location
    from queuectl.queue import Queue
    from queuectl.store.api import HealthStore, Store
    from queuectl.store.messages import Worker
    from queuectl.transfer.copy import Copied
    from queuectl.transfer.export import Exported
    from queuectl.transfer.progress import Progress
    from queuectl.transfer.seals import Seals
    from queuectl.worker.desk import Desk
    from queuectl.worker.heart import Heart
    from queuectl.worker.launcher import Launcher
    from queuectl.worker.loop import Loop


_START_PATIENCE_MS = 10_000
# The loop serves running commands too: it must not stand still while somebody else holds the store.
_LOOP_PATIENCE_MS = 100
_HEART_PATIENCE_MS = 2_000


def open_queue(
    url: str | None = None, *, create: bool = True, mending: bool = False, clock: Clock | None = None
) -> Queue:
    """The queue at `url`, else at QUEUECTL_DB, else in the home.

    `mending`: settings that do not fit together are left aside, or nobody could correct them.
    """
    from queuectl.clock import SYSTEM_CLOCK
    from queuectl.config.settings import Settings
    from queuectl.config.sources import load
    from queuectl.errors import InvalidInput
    from queuectl.paths import locate
    from queuectl.queue import Queue
    from queuectl.store.open import open_store

    store = open_store(locate(url), create=create)
    try:
        try:
            stored = store.stored_config()
            if any(name.startswith("_") for name in stored):  # no setting begins so
                from queuectl.transfer.rules import refuse_unfinished

                refuse_unfinished(stored, store.location)
            settings = load(stored)
        except InvalidInput:
            if not mending:
                raise
            settings = Settings()
        if settings.durability == "normal":
            store.relax_durability()
    except BaseException:
        store.close()
        raise
    return Queue(store, settings, clock or SYSTEM_CLOCK)


def look_at(location: Location) -> HealthStore:
    """The store, only to be looked at: nothing is made, brought up to date or changed."""
    from queuectl.store.open import look_at as look

    return look(location)


def living_workers(store: Store) -> list[Worker]:
    """The workers whose lease holds and whose process, if it is on this machine, exists."""
    workers = store.workers()
    if not workers:
        return []
    from queuectl import system

    return [
        worker
        for worker in workers
        if worker.state == "alive" and not store.lease_ended(worker) and store.presence(worker) != system.DEAD
    ]


def serving_workers(store: Store, queue: str | None = None) -> list[Worker]:
    """The living workers that will take jobs of this queue, or of any."""
    return [
        worker
        for worker in living_workers(store)
        if worker.control is None and (queue is None or worker.serves(queue))
    ]


def copy_queue(
    url: str | None, to: str, *, resume: bool = False, restart: bool = False, progress: Progress
) -> tuple[Copied, Location, Location]:
    """Copy the queue at `url` to the place `to`; also says where these are."""
    from queuectl.paths import locate
    from queuectl.store.open import open_store
    from queuectl.transfer import rules
    from queuectl.transfer.copy import Copy

    with open_queue(url, create=False) as queue:
        here, there = queue.store.location, locate(to)
        # Before the target is opened, which would make it.
        rules.refuse_same_place(here, there)
        rules.refuse_activity(queue.store, living_workers, what="the source")
        target = open_store(there)
        try:
            now = queue.clock.now()
            copy = Copy(queue.store, target, living=living_workers, now=now, progress=progress)
            return copy.run(resume=resume, restart=restart), here, there
        finally:
            target.close()


def export_queue(url: str | None, write: Callable[[str], object], *, progress: Progress) -> Exported:
    """Write the queue at `url` as JSON lines."""
    from queuectl import __version__
    from queuectl.transfer.export import export

    with open_queue(url, create=False) as queue:
        return export(
            queue.store,
            write,
            living=living_workers,
            now=queue.clock.now(),
            program=__version__,
            progress=progress,
        )


def import_queue(
    url: str | None, file: BinaryIO, *, edited: bool = False, progress: Progress
) -> tuple[Seals, Location]:
    """Store the queue that a seekable file holds, all or nothing; also says where."""
    from queuectl.config.settings import Settings
    from queuectl.transfer.load import check_file, load

    # Before the store is opened, which would make it.
    found = check_file(file, edited=edited, parse=Settings, progress=progress)
    with open_queue(url) as queue:
        seals = load(found, queue.store, living=living_workers, progress=progress)
        return seals, queue.store.location


class WorkerSpec:
    """What a worker shall be."""

    __slots__ = (
        "concurrency",
        "foreground",
        "lifeline",
        "limits",
        "provides",
        "queues",
        "url",
        "verbose",
        "weights",
    )

    def __init__(
        self,
        *,
        url: str | None = None,
        concurrency: int | None = None,
        queues: tuple[str, ...] | None = None,
        weights: tuple[int, ...] | None = None,
        provides: Pieces | None = None,
        limits: Limits | None = None,
        lifeline: int | None = None,
        foreground: bool = False,
        verbose: bool = False,
    ) -> None:
        self.url = url
        self.concurrency = concurrency
        self.queues = queues  # None: all
        self.weights = weights  # of each; None: strictly in their order
        self.provides = provides or {}  # the resources that jobs may need
        self.limits = limits  # what this machine may be burdened with
        self.lifeline = lifeline  # the pipe that ends with our supervisor
        self.foreground = foreground  # do not outlive the supervisor
        self.verbose = verbose  # a log line for every job


def run_worker(spec: WorkerSpec) -> None:
    """Be a worker process until told to stop."""
    from queuectl import events
    from queuectl.clock import SYSTEM_CLOCK
    from queuectl.worker.log import Log

    unsubscribe = events.subscribe(Log(SYSTEM_CLOCK, verbose=spec.verbose))
    queue = open_queue(spec.url, create=False)
    try:
        worker = build_worker(queue, spec)
        worker.run()
    finally:
        queue.close()
        unsubscribe()


def build_worker(
    queue: Queue,
    spec: WorkerSpec,
    *,
    only: int | None = None,
    interrupted: Callable[[], None] | None = None,
) -> Loop:
    """Wire a worker on this queue's store. `only` restricts it to one job."""
    from queuectl import system
    from queuectl.core.pieces import spell
    from queuectl.paths import make_private_dir
    from queuectl.worker.loop import Loop
    from queuectl.worker.membership import Membership
    from queuectl.worker.process import keep_descriptors_private, keep_memory_private
    from queuectl.worker.signals import Signals

    store, settings, clock = queue.store, queue.settings, queue.clock
    location = store.location
    make_private_dir(location.run_dir)
    make_private_dir(location.logs_dir)
    keep_descriptors_private()
    keep_memory_private()
    system.become_subreaper()
    signals = Signals()
    # A server that is cut off may keep us waiting: never for so long that our commands outlive the lease.
    answer_ms = min(max(settings.worker_lease // 6, 1_000), 10_000) if location.shared else None
    heart = _make_heart(queue, answer_ms, signals.wake, only=only)

    def join() -> Membership:
        me = Membership(
            store,
            concurrency=spec.concurrency or settings.max_concurrent_jobs,
            queues=spec.queues,
            weights=spec.weights,
            provides=spell(spec.provides) or None,
            supervisor=os.getppid() if spec.lifeline is not None else None,
        )
        store.be_patient(_START_PATIENCE_MS)
        me.register(store, heart.settings.worker_lease, clock.now())
        store.be_patient(_LOOP_PATIENCE_MS, answer_ms)
        return me

    loop = Loop(
        store=store,
        desk=_make_desk(queue, spec, signals.wake, only=only),
        heart=heart,
        signals=signals,
        launcher=_make_launcher(queue),
        clock=clock,
        join=join,
        lifeline=spec.lifeline,
        interrupted=interrupted,
        longest_wait=(answer_ms or 0) / 1000,
    )
    loop.stop_when_orphaned = spec.foreground
    heart.start()
    return loop


def _make_launcher(queue: Queue) -> Launcher:
    from queuectl.tracing.attempts import trace_attempts
    from queuectl.worker.launcher import Launcher
    from queuectl.worker.process import job_environment

    location = queue.store.location
    launcher = Launcher(job_environment(location.url), queue.settings.shell, location.run_dir)
    tracing = trace_attempts()
    if tracing is not None:
        launcher.tell = tracing.begin
    return launcher


def _make_heart(queue: Queue, answer_ms: int | None, wake: Callable[[], None], *, only: int | None) -> Heart:
    from queuectl.config.sources import load
    from queuectl.store.open import open_store
    from queuectl.upkeep.bookkeeper import Bookkeeper
    from queuectl.upkeep.purger import Purger
    from queuectl.upkeep.rescuer import Rescuer
    from queuectl.upkeep.scheduler import Scheduler
    from queuectl.upkeep.timekeeper import Timekeeper
    from queuectl.worker.heart import Heart
    from queuectl.worker.measures import Measures

    def open_another() -> Store:
        another = open_store(queue.store.location, create=False)
        another.be_patient(_HEART_PATIENCE_MS, answer_ms)
        return another

    heart = Heart(
        open_store=open_another,
        load=lambda other: load(other.stored_config()),
        settings=queue.settings,
        clock=queue.clock,
        wake=wake,
        # A worker for one job leaves schedules to those who could run what they make.
        upkeep=[
            Rescuer(lambda: heart.worker_id),
            Purger(),
            Bookkeeper(),
            Timekeeper(queue.clock),
            *([Scheduler()] if only is None else []),
        ],
        measures=Measures(),
    )
    return heart


def _make_desk(queue: Queue, spec: WorkerSpec, wake: Callable[[], None], *, only: int | None) -> Desk:
    from queuectl.worker.clerk import Clerk, RunningClerk
    from queuectl.worker.desk import Desk
    from queuectl.worker.gate import Gate
    from queuectl.worker.stock import Stock

    return Desk(
        queue.store,
        queue.clock,
        queue.settings,
        RunningClerk(wake) if queue.store.location.shared else Clerk(),
        queues=spec.queues,
        weights=spec.weights,
        only=only,
        stock=Stock(spec.provides),
        gate=Gate(spec.limits) if spec.limits else None,
    )


def run_supervisor(
    command: list[str], count: int, url: str | None, own: Sequence[Sequence[str]] = ()
) -> None:
    """Be the parent of `count` workers, each started by `command` and, if there are any, words of its own."""
    from queuectl import events
    from queuectl.clock import SYSTEM_CLOCK
    from queuectl.paths import locate, make_private_dir
    from queuectl.upkeep.rescuer import rescue
    from queuectl.worker.log import Log
    from queuectl.worker.process import keep_memory_private
    from queuectl.worker.signals import Signals
    from queuectl.worker.supervisor import Supervisor

    run_dir = make_private_dir(locate(url).run_dir)
    keep_memory_private()
    events.subscribe(Log(SYSTEM_CLOCK, verbose=True))
    Supervisor(command, count, run_dir, SYSTEM_CLOCK, Signals(), own).run()
    # A worker may have crashed while we were stopping, and nobody else may be left to free its jobs.
    with open_queue(url, create=False) as queue:
        rescue(queue.store, queue.settings, queue.clock.now())

"""Wires a worker, and the supervisor of several, from settings, store, queue and the parts of `worker`.

Imports are late: a supervisor needs no database driver, and who only starts one needs none of this.
"""

from __future__ import annotations

import os

from queuectl.app import open_queue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from queuectl.core.admission import Limits
    from queuectl.core.pieces import Pieces
    from queuectl.queue import Queue
    from queuectl.store.api import Store
    from queuectl.worker.desk import Desk
    from queuectl.worker.heart import Heart
    from queuectl.worker.launcher import Launcher
    from queuectl.worker.logfile import SharedLog
    from queuectl.worker.loop import Loop
    from queuectl.worker.membership import Membership
    from queuectl.worker.pulse import Pulse

__all__ = ["WorkerSpec", "build_worker", "run_supervisor", "run_worker"]

_START_PATIENCE_MS = 10_000
# The loop serves running commands too: it must not stand still while somebody else holds the store.
_LOOP_PATIENCE_MS = 100
_HEART_PATIENCE_MS = 2_000


class WorkerSpec:
    """What a worker shall be."""

    __slots__ = (
        "concurrency",
        "foreground",
        "lifeline",
        "limits",
        "log_max",
        "provides",
        "pulse",
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
        pulse: tuple[int, float] | None = None,
        log_max: int | None = None,
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
        self.pulse = pulse  # the pipe on which our supervisor wants signs of life, and how often
        self.log_max = log_max  # in the background: how long the log may get; None: stderr is somebody else's
        self.foreground = foreground  # do not outlive the supervisor
        self.verbose = verbose  # a log line for every job


def run_worker(spec: WorkerSpec) -> None:
    """Be a worker process until told to stop."""
    from queuectl import events
    from queuectl.clock import SYSTEM_CLOCK
    from queuectl.worker.log import Log

    log_file = _shared_log(spec.url, spec.log_max)
    unsubscribe = events.subscribe(Log(SYSTEM_CLOCK, verbose=spec.verbose, file=log_file))
    pulse = _make_pulse(spec)
    if pulse.heard:
        events.subscribe(pulse)
    queue = open_queue(spec.url, create=False)
    try:
        worker = build_worker(queue, spec, pulse=pulse)
        worker.run()
    finally:
        queue.close()
        unsubscribe()


def _shared_log(url: str | None, most: int | None) -> SharedLog | None:
    """The log of background workers, which is behind their stderr."""
    if most is None:
        return None
    from queuectl.paths import locate, workers_log
    from queuectl.worker.logfile import SharedLog

    return SharedLog(workers_log(locate(url)), most)


def _make_pulse(spec: WorkerSpec) -> Pulse:
    from queuectl.clock import SYSTEM_CLOCK
    from queuectl.worker.pulse import Pulse, service_pulse, supervised_pulse

    if spec.pulse is not None:
        return supervised_pulse(SYSTEM_CLOCK, *spec.pulse)
    return service_pulse(SYSTEM_CLOCK) if spec.lifeline is None else Pulse(SYSTEM_CLOCK)


def build_worker(
    queue: Queue,
    spec: WorkerSpec,
    *,
    only: int | None = None,
    interrupted: Callable[[], None] | None = None,
    pulse: Pulse | None = None,
) -> Loop:
    """Wire a worker on this queue's store. `only` restricts it to one job."""
    from queuectl.worker.loop import Loop
    from queuectl.worker.signals import Signals

    _prepare_process(queue)
    signals = Signals()
    answer_ms = _answer_ms(queue)
    heart = _make_heart(queue, answer_ms, signals.wake, only=only)
    loop = Loop(
        store=queue.store,
        desk=_make_desk(queue, spec, signals.wake, only=only),
        heart=heart,
        signals=signals,
        launcher=_make_launcher(queue),
        clock=queue.clock,
        join=_joining(queue, spec, heart, answer_ms, only=only),
        lifeline=spec.lifeline,
        interrupted=interrupted,
        longest_wait=(answer_ms or 0) / 1000,
        pulse=pulse,
    )
    loop.stop_when_orphaned = spec.foreground
    heart.start()
    return loop


def _prepare_process(queue: Queue) -> None:
    """What others must not see or inherit, and whose orphans come to us."""
    from queuectl import system
    from queuectl.paths import make_private_dir
    from queuectl.worker.process import keep_descriptors_private, keep_memory_private

    location = queue.store.location
    make_private_dir(location.run_dir)
    make_private_dir(location.logs_dir)
    keep_descriptors_private()
    keep_memory_private()
    system.become_subreaper()


def _answer_ms(queue: Queue) -> int | None:
    """A server that is cut off may keep us waiting: never for so long that our commands outlive the lease."""
    if not queue.store.location.shared:
        return None
    return min(max(queue.settings.worker_lease // 6, 1_000), 10_000)


def _joining(
    queue: Queue, spec: WorkerSpec, heart: Heart, answer_ms: int | None, *, only: int | None
) -> Callable[[], Membership]:
    """Makes the worker's row, at its start and whenever it was declared dead and comes back."""
    from queuectl.core.pieces import spell
    from queuectl.worker.membership import Membership

    store = queue.store

    def join() -> Membership:
        me = Membership(
            store,
            concurrency=spec.concurrency or queue.settings.max_concurrent_jobs,
            # Who is here for one job must not be waited for by others.
            queues=spec.queues if only is None else (),
            weights=spec.weights,
            provides=spell(spec.provides) or None,
            supervisor=os.getppid() if spec.lifeline is not None else None,
        )
        store.be_patient(_START_PATIENCE_MS)
        me.register(store, heart.settings.worker_lease, queue.clock.now())
        store.be_patient(_LOOP_PATIENCE_MS, answer_ms)
        return me

    return join


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
    from queuectl.upkeep.trimmer import Trimmer
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
            Trimmer(lambda: heart.worker_id),
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
    command: list[str],
    count: int,
    url: str | None,
    own: Sequence[Sequence[str]] = (),
    *,
    log_max: int | None = None,
    feed: int | None = None,
) -> None:
    """Be the parent of `count` workers, each started by `command` and, if there are any, words of its own."""
    from queuectl import events
    from queuectl.clock import SYSTEM_CLOCK
    from queuectl.paths import locate, make_private_dir
    from queuectl.upkeep.rescuer import rescue
    from queuectl.worker.log import Log
    from queuectl.worker.process import keep_memory_private
    from queuectl.worker.pulse import service_pulse
    from queuectl.worker.signals import Signals
    from queuectl.worker.supervisor import Supervisor
    from queuectl.worker.wellbeing import Wellbeing

    run_dir = make_private_dir(locate(url).run_dir)
    keep_memory_private()
    events.subscribe(Log(SYSTEM_CLOCK, verbose=True, file=_shared_log(url, log_max)))
    wellbeing = Wellbeing(service_pulse(SYSTEM_CLOCK))
    Supervisor(command, count, run_dir, SYSTEM_CLOCK, Signals(), own, wellbeing=wellbeing, feed=feed).run()
    # A worker may have crashed while we were stopping, and nobody else may be left to free its jobs.
    with open_queue(url, create=False) as queue:
        rescue(queue.store, queue.settings, queue.clock.now())

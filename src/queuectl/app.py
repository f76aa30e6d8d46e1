"""The composition root: settings -> store -> queue. With `assembly`, which adds the worker, all that wires.

Imports are late: `enqueue` needs nothing that moves queues, and only one of the database drivers.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import BinaryIO

    from queuectl.clock import Clock
    from queuectl.paths import Location
    from queuectl.queue import Queue
    from queuectl.store.api import HealthStore, Store
    from queuectl.store.messages import Worker
    from queuectl.transfer.copy import Copied
    from queuectl.transfer.export import Exported
    from queuectl.transfer.progress import Progress
    from queuectl.transfer.seals import Seals


def open_queue(
    url: str | None = None, *, create: bool = True, mending: bool = False, clock: Clock | None = None
) -> Queue:
    """The queue at `url`, else at QUEUECTL_DB, else in the home.

    `mending`: settings that do not fit together are left aside, or nobody could correct them.
    """
    from queuectl.paths import locate
    from queuectl.store.open import open_store

    return _queue_in(open_store(locate(url), create=create), mending=mending, clock=clock)


def open_to_look(url: str | None, *, mending: bool = False) -> tuple[Queue, bool]:
    """The same for those who only look: where there is none yet, an empty one stands in and none is made.

    Also whether it is a real one.
    """
    from queuectl.paths import locate
    from queuectl.store.open import open_to_look as look

    store, is_real = look(locate(url))
    return _queue_in(store, mending=mending), is_real


def _queue_in(store: Store, *, mending: bool, clock: Clock | None = None) -> Queue:
    from queuectl.clock import SYSTEM_CLOCK
    from queuectl.config.settings import Settings
    from queuectl.config.sources import load
    from queuectl.errors import InvalidInput
    from queuectl.queue import Queue

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


def workers_at_work(store: Store) -> list[Worker]:
    """The living workers, with what each runs at this moment."""
    living = living_workers(store)
    count_running(store, living)
    return living


def count_running(store: Store, workers: Sequence[Worker]) -> None:
    """What each has in hand now; what it said of itself may be as old as its last heartbeat."""
    claims = store.claims_of([worker.id for worker in workers])
    for worker in workers:
        # Beyond its slots it has only claimed ahead.
        worker.running = min(claims.get(worker.id, 0), worker.concurrency)


def serving_workers(store: Store, queue: str | None = None) -> list[Worker]:
    """The living workers that will take jobs of this queue, or of any."""
    return [
        worker
        for worker in living_workers(store)
        # One without any queue is a `run` that works for its own job only.
        if worker.control is None and (worker.queues != "" if queue is None else worker.serves(queue))
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

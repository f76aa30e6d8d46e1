"""Pieces of this machine, each for one worker: two would hand it out to two jobs.

Which pieces there are is left to `core.pieces`, starting workers to `fleet`.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager

from queuectl.app import living_workers
from queuectl.core.pieces import common, read
from queuectl.errors import Refused
from queuectl.fleet import on_this_machine
from queuectl.paths import make_private_dir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from queuectl.core.pieces import Pieces
    from queuectl.queue import Queue

__all__ = ["refuse_taken", "taking"]


@contextmanager
def taking(queue: Queue, provides: Pieces) -> Iterator[None]:
    """Refuses what is taken. Until the end nobody else here can take any: two who look at once would both."""
    if not provides:
        yield
        return
    path = os.path.join(make_private_dir(queue.store.location.run_dir), "provides.lock")
    fd = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        refuse_taken(queue, provides)
        yield
    finally:
        os.close(fd)


def refuse_taken(queue: Queue, provides: Pieces) -> None:
    for worker in on_this_machine(queue.store, living_workers(queue.store)) if provides else ():
        both = common(provides, read(worker.provides))
        if both is not None:
            name, id = both
            raise Refused(
                f"{name} {id} belongs to worker {worker.id} already",
                f"stop that worker, or provide others: {name}=ids:A+B lists them",
            )

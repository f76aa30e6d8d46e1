"""Tells of workers of this machine that crash again and again: what is seen without them is an idle queue."""

from __future__ import annotations

import os

from queuectl.cli.output import say
from queuectl.paths import workers_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.queue import Queue


def tell_of_crashes(queue: Queue) -> None:
    """On stderr, and only if there is anything to tell."""
    location = queue.store.location
    try:
        names = os.listdir(location.run_dir)
    except OSError:
        return
    if not any(name.startswith("supervisor-") for name in names):
        return  # without workers in the background this costs nothing
    from queuectl.fleet import crashing

    for line in crashing(queue):
        say(f"warning: {line}; their log says why: {workers_log(location)}")

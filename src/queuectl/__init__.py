"""queuectl: a durable job queue for shell commands.

    from queuectl import Queue

    with Queue.open() as queue:
        job = queue.enqueue("echo hello")
        print(queue.wait([job.id]))

Names are loaded on first use, so that the command line starts fast.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.core.job import Attempt, Job
    from queuectl.errors import QueuectlError
    from queuectl.queue import Queue

__version__ = "0.1.0"
__all__ = ["Attempt", "Job", "Queue", "QueuectlError", "__version__"]

_HOMES = {
    "Attempt": "queuectl.core.job",
    "Job": "queuectl.core.job",
    "Queue": "queuectl.queue",
    "QueuectlError": "queuectl.errors",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'queuectl' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)

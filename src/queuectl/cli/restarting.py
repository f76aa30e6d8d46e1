"""`queuectl worker restart`: which workers it is for, and what is said of it.

Replacing them is left to `replacing`.
"""

from __future__ import annotations

from queuectl.cli.options import open_queue
from queuectl.cli.output import plural, print_json, say
from queuectl.core.durations import parse_duration
from queuectl.errors import NotFound, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from queuectl.fleet import Worker
    from queuectl.queue import Queue

    Progress = Callable[[list[Worker]], None]


def restart(options: argparse.Namespace, progress: Progress | None) -> int:
    from queuectl.replacing import Replacement

    timeout = None if options.timeout is None else parse_duration(options.timeout, what="--timeout")
    with open_queue(options) as queue:
        chosen = _to_replace(queue, options)
        if not chosen:
            say("no workers are running in the background. Start some: queuectl worker start")
            return 1
        replacement = Replacement(queue, now=options.now, timeout_ms=timeout, progress=progress)
        replacement.run(chosen, lambda old, new: say(f"Worker {new.id} has taken the place of {old.id}"))
    for worker in replacement.killed:
        say(f"worker {worker.id} did not end and was killed; its jobs went back to the queue")
    if options.json:
        pairs = [{"old": old.id, "new": new.id} for old, new in replacement.pairs]
        print_json({"replaced": pairs, "killed": [worker.id for worker in replacement.killed]})
    else:
        print(f"✓ {plural(len(replacement.pairs), 'worker')} replaced, one after the other")
    return 0


def _to_replace(queue: Queue, options: argparse.Namespace) -> list[Worker]:
    """Those that are meant, and that we can start again."""
    from queuectl.app import living_workers
    from queuectl.fleet import on_this_machine
    from queuectl.replacing import in_the_foreground

    living = on_this_machine(queue.store, living_workers(queue.store))
    unknown = set(options.ids) - {worker.id for worker in living}
    if unknown:
        raise NotFound(f"there is no worker {min(unknown)[:80]!r}", "queuectl worker list shows them")
    chosen = [worker for worker in living if not options.ids or worker.id in options.ids]
    others = in_the_foreground(queue, chosen)
    how = "restart it where it was started: a service by systemctl restart, a container by its own means"
    if others and options.ids:
        raise Refused(f"worker {others[0].id} runs in the foreground", how)
    for worker in others:
        say(f"worker {worker.id} runs in the foreground and is left as it is; {how}")
    return [worker for worker in chosen if worker not in others]

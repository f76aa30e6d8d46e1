"""What somebody who waits ought to know: that there is nothing to wait for, or that nothing will move.

On stderr only; the exit code is left to the commands.
"""

from __future__ import annotations

from queuectl.cli.output import clean, say
from queuectl.core.states import CANCELLABLE
from queuectl.errors import NotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from queuectl.queue import JobFilter, Queue


def note_nothing(queue: Queue, options: argparse.Namespace) -> None:
    """No job is meant: a name that nobody has is likely a wrong one, a queue that is empty is none."""
    from queuectl.queue import JobFilter

    if options.ids:
        say("note: there is no id on stdin" if "-" in options.ids else "note: there is no job")
        return
    if options.queue is not None:
        from queuectl.queues import find

        try:
            find(queue, options.queue)
        except NotFound as error:
            say(f"note: {error.message}" + (f"; {error.hint}" if error.hint else ""))
            return
    if options.tag is not None and not queue.list(filter=JobFilter(tag=options.tag), limit=1):
        say(f"note: no job has the tag {options.tag}")
    elif options.search is not None:
        say("note: there is no such job")


def note_paused(queue: Queue, filters: Iterable[JobFilter]) -> None:
    """Queues in which some of these jobs wait, and of which nothing starts."""
    from queuectl.core.queue_rules import is_paused
    from queuectl.queues import resting

    now = queue.clock.now()
    paused = [rule for rule in resting(queue) if is_paused(rule, now)]
    if not paused:
        return
    from queuectl.cli.queueview import until

    wanted = list(filters)
    for rule in paused:
        own = [group for group in wanted if group.queue in (None, rule.name) and group.without != rule.name]
        mine = (group.replaced(queue=rule.name, without=None, states=CANCELLABLE) for group in own)
        if any(queue.store.unfinished(group) for group in mine):
            why = f" ({clean(rule.pause_reason)})" if rule.pause_reason else ""
            say(
                f"note: queue {rule.name} is paused until {until(rule, now)}{why}. "
                f"Go on with it: queuectl queue resume {rule.name}"
            )

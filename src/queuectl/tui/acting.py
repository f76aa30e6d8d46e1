"""What one can do to a job or a queue by a key: where it is possible, how it is asked, how it is done."""

from __future__ import annotations

from queuectl import editing, queues
from queuectl.core import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from queuectl.queue import Queue
    from queuectl.tui.pictures import JobRow

__all__ = ["ACTIONS", "Action", "toggle_pause"]


class Action:
    """Something to do with one job."""

    __slots__ = ("_sources", "does", "verb")

    def __init__(self, verb: str, sources: tuple[str, ...], does: Callable[[Queue, str], str]) -> None:
        self.verb = verb
        self._sources = sources
        self.does = does  # returns what to say

    def refusal(self, row: JobRow) -> str | None:
        """Why asking makes no sense. Only a guess: the store decides, and may have gone on meanwhile."""
        if row.state not in self._sources:
            return (
                f"too late to {self.verb} it"
                if row.state in states.TERMINAL
                else f"cannot {self.verb} it now"
            )
        return "nobody holds it" if self.verb == "release" and not row.held else None


def _retry(queue: Queue, id: str) -> str:
    queue.retry(id)
    return f"{id} runs again"


def _cancel(queue: Queue, id: str) -> str:
    return f"{id} is {'being ended' if queue.cancel(id) == 'cancelling' else 'cancelled'}"


def _hold(queue: Queue, id: str) -> str:
    editing.hold(queue, id)
    return f"{id} is held; u lets it go on"


def _release(queue: Queue, id: str) -> str:
    editing.release(queue, id)
    return f"{id} goes on"


def _delete(queue: Queue, id: str) -> str:
    queue.remove(id)
    return f"{id} is deleted"


ACTIONS = {
    "retry": Action("retry", states.RETRYABLE, _retry),
    "cancel": Action("cancel", (*states.CANCELLABLE, states.PROCESSING), _cancel),
    "hold": Action("hold", editing.WAITING, _hold),
    "release": Action("release", (states.BLOCKED,), _release),
    "delete": Action("delete", states.REMOVABLE, _delete),
}


def toggle_pause(name: str, *, paused: bool) -> Callable[[Queue], str]:
    def act(queue: Queue) -> str:
        if paused:
            queues.resume(queue, name)
            return f"queue {name} goes on"
        queues.pause(queue, name)
        return f"queue {name} is paused: no more of its jobs are started"

    return act

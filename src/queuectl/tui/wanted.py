"""What the person looks at: a state, the words of a filter, a page, a job."""

from __future__ import annotations

from queuectl.core import states
from queuectl.selecting import make_filter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.queue import JobFilter

__all__ = ["STATES", "Wanted", "read_filter"]

# In the order of the tabs: what goes on and what went wrong come first. None: all of them.
STATES: tuple[str | None, ...] = (
    None,
    states.PROCESSING,
    states.PENDING,
    states.FAILED,
    states.DEAD,
    states.COMPLETED,
    states.SCHEDULED,
    states.BLOCKED,
    states.CANCELLED,
)

_WORDS = {"queue": "queue", "q": "queue", "tag": "tag", "since": "since", "before": "before"}


class Wanted:
    """A value: another look is another object, so that the reader can tell them apart."""

    __slots__ = ("filter", "start", "state")

    def __init__(
        self,
        state: str | None = None,
        filter: str = "",
        start: tuple[tuple[str, int], ...] = (),
    ) -> None:
        self.state = state
        self.filter = filter  # as it was typed
        self.start = start  # of each state, how many jobs the pages before this one have shown

    def job_filter(self, now: int) -> JobFilter:
        found = read_filter(self.filter, now)
        if self.state is not None:
            return found.replaced(states=(self.state,))
        return found


def read_filter(text: str, now: int) -> JobFilter:
    """`queue:mail tag:night since:1h state:dead some text`; what is no such word is looked for as text."""
    given: dict[str, str] = {}
    chosen: list[str] = []
    rest: list[str] = []
    for word in text.split():
        name, colon, value = word.partition(":")
        if colon and value and name.lower() in _WORDS:
            given[_WORDS[name.lower()]] = value
        elif colon and value and name.lower() == "state":
            chosen.append(value)
        else:
            rest.append(word)
    return make_filter(
        now=now,
        states=chosen,
        queue=given.get("queue"),
        tag=given.get("tag"),
        search=" ".join(rest) or None,
        since=given.get("since"),
        before=given.get("before"),
        sign="",
    )

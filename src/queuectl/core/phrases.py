"""Pieces of the sentences in which jobs are explained."""

from __future__ import annotations

from queuectl.core.situation import MOST_AHEAD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuectl.core.situation import Situation

_MOST_NAMED = 5


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def listed(items: Sequence[str], total: int) -> str:
    """The first of them, and how many more there are."""
    named = items[:_MOST_NAMED]
    more = total - len(named)
    return ", ".join(named) + (f" and {more:,} more" if more > 0 else "")


def before(situation: Situation) -> str:
    """The job's place in the line of its queue; nothing if it is the next."""
    ahead = situation.ahead
    if not ahead:
        return ""
    jobs = f"{MOST_AHEAD:,} jobs or more" if ahead >= MOST_AHEAD else count(ahead, "job")
    return f", and {jobs} of its queue {'is' if ahead == 1 else 'are'} before this one"

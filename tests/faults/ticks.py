"""Commands that write down all the time that they run, so that two of one job can be seen to overlap."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import NamedTuple

from tests.support.shared_queue import SharedQueue

# Deaf to TERM: only KILL ends it in time. Its first attempt never ends by itself.
TICKING = """trap '' TERM
tick() { echo "$QUEUECTL_JOB_ID $QUEUECTL_ATTEMPT $(date +%s.%N) $(hostname)" >> ticks.log; sleep 0.05; }
tick; while test "$QUEUECTL_ATTEMPT" -eq 1; do tick; done; tick; tick"""


class Life(NamedTuple):
    """When an attempt was seen for the first and for the last time, by the wall clock; and where."""

    first: float
    last: float
    host: str


def lives(place: SharedQueue) -> dict[str, dict[int, Life]]:
    """Of every job, the life of every attempt."""
    log = place.work / "ticks.log"
    found: dict[str, dict[int, Life]] = defaultdict(dict)
    for line in log.read_text().splitlines() if log.exists() else []:
        id, attempt, time, host = line.split()
        first = found[id].get(int(attempt), Life(float(time), 0, host)).first
        found[id][int(attempt)] = Life(first, float(time), host)
    return found


def assert_no_overlap(place: SharedQueue) -> None:
    for id, attempts in lives(place).items():
        order = [attempts[number] for number in sorted(attempts)]
        for earlier, later in pairwise(order):
            assert earlier.last < later.first, (id, attempts)

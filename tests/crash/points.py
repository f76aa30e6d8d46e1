"""The failpoints of the program, by who passes them. `test_points` sees that none is forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from queuectl.testing import wait_until
from tests.support.home import Home

if TYPE_CHECKING:
    from _pytest.mark.structures import ParameterSet

BETWEEN_CLAIM_AND_FINISH = [
    "claim.before_commit",
    "claim.committed",
    "run.marked",
    "run.spawned",
    "run.running",
    "run.exited",
    "run.reaped",
    "run.output_flushed",
    "complete.before_commit",
    "complete.committed",
]
# Close to those above, where the same must hold.
BESIDE_THEM = ["run.pid_recorded", "report.noted", "report.settled"]
OF_ARRIVING = ["register.before_commit", "register.committed"]
OF_HEARTS = ["heartbeat.before", "heartbeat.before_commit", "heartbeat.committed", "heartbeat.after"]
OF_LEAVING = ["forget.before_commit", "forget.committed"]
OF_RESCUERS = [
    "bury.before_commit",
    "bury.committed",
    "reap.selected",
    "reap.killed",
    "finish.before_commit",
    "finish.committed",
    "reap.committed",
    *OF_LEAVING,
]
OF_WORKERS_STOPPING = ["shutdown.drained", "shutdown.left"]
OF_ENQUEUE = ["enqueue.before_commit", "enqueue.committed", "enqueue.acked"]
OF_CHANGES = ["change.before_commit", "change.committed"]
OF_SETTINGS = ["config.before_commit", "config.committed"]
OF_STOPS = ["control.before_commit", "control.committed"]


def by_default(*some: str, of: list[str]) -> list[ParameterSet]:
    """Parameters: all of these points, but by default only some; the others are of the tier `long`."""
    assert set(some) <= set(of)
    return [pytest.param(point, marks=() if point in some else pytest.mark.long) for point in of]


def armed(home: Home, point: str, action: str = "kill9") -> dict[str, str]:
    """The environment in which the first process that comes to this point dies there."""
    return {
        "QUEUECTL_ENABLE_FAILPOINTS": "1",
        "QUEUECTL_FAILPOINT": f"{point}={action}",
        "QUEUECTL_FAILPOINT_ONCE": str(home.work / "fired"),
    }


def await_fire(home: Home) -> None:
    """Somebody has come to that point. Some are passed a moment after all jobs have ended."""
    wait_until((home.work / "fired").exists, what="the failpoint to be reached")

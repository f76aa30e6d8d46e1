"""Whoever dies while dependents are told of an end: the telling goes on, and nobody waits for ever."""

from __future__ import annotations

import pytest

from queuectl.core import states
from queuectl.testing import wait_until
from tests.crash.checker import check, put, settle
from tests.crash.points import BESIDE_THEM, BETWEEN_CLAIM_AND_FINISH, armed, await_fire, by_default
from tests.support.engines import SERVERS, on_engines
from tests.support.home import Home

pytestmark = on_engines(long=SERVERS)


def put_graph(home: Home) -> list[str]:
    """A diamond with a tail, and one for the case of failure. Those that will run."""
    put(home, "top")
    put(home, "left", "right", after=["top"])
    put(home, "bottom", after=["left", "right"])
    put(home, "tail", after_any=["bottom"])
    put(home, "sorry", after_fail=["top"])
    return ["top", "left", "right", "bottom", "tail"]


@pytest.mark.parametrize(
    "point",
    by_default(
        *("claim.before_commit", "claim.committed", "run.spawned", "run.running", "run.exited"),
        *("complete.before_commit", "complete.committed", "report.settled"),
        of=[*BETWEEN_CLAIM_AND_FINISH, *BESIDE_THEM],
    ),
)
def test_a_worker_killed_at_any_step_loses_nothing_and_leaves_nobody_waiting(home: Home, point: str) -> None:
    ids = put_graph(home)
    alone = [f"job{n}" for n in range(3)]
    put(home, *alone)
    home.supervise(concurrency=2, env=armed(home, point))
    await_fire(home)
    settle(home)
    check(home, [*alone, *ids])
    assert home.state("sorry") == states.CANCELLED


@pytest.mark.parametrize("point", ["settle.before_commit", "settle.committed"])
def test_a_cancel_that_dies_while_it_tells_others_is_finished_by_the_next(home: Home, point: str) -> None:
    put(home, "p")
    put(home, "c", after=["p"])
    put(home, "d", after=["c"])
    assert home.q("cancel", "p", env=armed(home, point)).returncode == -9
    put(home, "other")
    home.supervise()

    def all_told() -> bool:
        with home.queue() as queue:
            return [queue.get(id).state for id in ("p", "c", "d")] == [states.CANCELLED] * 3

    wait_until(all_told, what="the dependents to be cancelled")

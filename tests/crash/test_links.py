"""Whoever dies while dependents are told of an end: the telling goes on, and nobody waits for ever."""

from __future__ import annotations

import pytest

from queuectl.core import states
from queuectl.testing import wait_until
from tests.crash.checker import check, put, settle
from tests.crash.points import BESIDE_THEM, BETWEEN_CLAIM_AND_FINISH, armed, await_fire
from tests.site import Site


def put_graph(site: Site) -> list[str]:
    """A diamond with a tail, and one for the case of failure. Those that will run."""
    put(site, "top")
    put(site, "left", "right", after=["top"])
    put(site, "bottom", after=["left", "right"])
    put(site, "tail", after_any=["bottom"])
    put(site, "sorry", after_fail=["top"])
    return ["top", "left", "right", "bottom", "tail"]


@pytest.mark.parametrize("point", [*BETWEEN_CLAIM_AND_FINISH, *BESIDE_THEM])
def test_a_worker_killed_at_any_step_loses_nothing_and_leaves_nobody_waiting(site: Site, point: str) -> None:
    ids = put_graph(site)
    alone = [f"job{n}" for n in range(3)]
    put(site, *alone)
    site.supervise(concurrency=2, env=armed(site, point))
    await_fire(site)
    settle(site)
    check(site, [*alone, *ids])
    assert site.state("sorry") == states.CANCELLED


@pytest.mark.parametrize("point", ["settle.before_commit", "settle.committed"])
def test_a_cancel_that_dies_while_it_tells_others_is_finished_by_the_next(site: Site, point: str) -> None:
    site.ok("enqueue", "--id", "p", "true")
    site.ok("enqueue", "--id", "c", "--after", "p", "true")
    site.ok("enqueue", "--id", "d", "--after", "c", "true")
    assert site.q("cancel", "p", env=armed(site, point)).returncode == -9
    site.ok("enqueue", "--id", "other", "true")
    site.ok("worker", "start")

    def all_told() -> bool:
        with site.queue() as queue:
            return [queue.get(id).state for id in ("p", "c", "d")] == [states.CANCELLED] * 3

    wait_until(all_told, what="the dependents to be cancelled")
    site.ok("worker", "stop")

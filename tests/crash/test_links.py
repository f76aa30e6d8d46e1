"""Whoever dies while dependents are told of an end: the telling goes on, and nobody waits for ever."""

from __future__ import annotations

import json

import pytest

from queuectl.core import states
from queuectl.testing import wait_until
from tests.crash.points import BETWEEN_CLAIM_AND_FINISH, armed, await_fire
from tests.site import Site


def enqueue_graph(site: Site) -> None:
    """A diamond with a tail, and one for the case of failure."""
    jobs = [
        {"id": "top", "command": "true"},
        {"id": "left", "command": "true", "after": ["top"]},
        {"id": "right", "command": "true", "after": ["top"]},
        {"id": "bottom", "command": "true", "after": ["left", "right"]},
        {"id": "tail", "command": "true", "after_any": ["bottom"]},
        {"id": "sorry", "command": "true", "after_fail": ["top"]},
    ]
    file = site.work / "graph.jsonl"
    file.write_text("".join(json.dumps(job) + "\n" for job in jobs))
    site.ok("enqueue", "--file", str(file))


def is_settled(site: Site) -> bool:
    with site.queue() as queue:
        found = {job.id: job.state for job in queue.list()}
    wanted = dict.fromkeys(("top", "left", "right", "bottom", "tail"), states.COMPLETED)
    return found == {**wanted, "sorry": states.CANCELLED}


@pytest.mark.parametrize("point", BETWEEN_CLAIM_AND_FINISH)
def test_a_worker_killed_at_any_step_leaves_nobody_waiting(site: Site, point: str) -> None:
    enqueue_graph(site)
    site.ok("worker", "start", env=armed(site, point))
    await_fire(site)
    wait_until(lambda: is_settled(site), what="the whole graph", timeout=60)
    site.ok("worker", "stop")


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

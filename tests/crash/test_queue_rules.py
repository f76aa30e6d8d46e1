"""A change of a queue's rules that dies: the old ones hold or the new ones, and it may be repeated."""

from __future__ import annotations

import pytest

from tests.crash.points import armed
from tests.support.engines import SERVERS, on_engines
from tests.support.home import Home

pytestmark = on_engines(long=SERVERS)


@pytest.mark.parametrize("point", ["queue.before_commit", "queue.committed"])
def test_a_rule_whose_command_dies_is_the_old_one_or_the_new_one(home: Home, point: str) -> None:
    with home.queue() as queue:
        queue.store.queues().set("mail", {"concurrency": 5, "rate": "1/h"}, queue.clock.now())
    done = home.q("queue", "set", "mail", "--concurrency", "7", "--rate", "none", env=armed(home, point))
    assert done.returncode == -9
    holds = (5, "1/h") if point == "queue.before_commit" else (7, None)
    assert rule(home) == holds
    home.ok("queue", "set", "mail", "--concurrency", "7", "--rate", "none")
    assert rule(home) == (7, None)


def rule(home: Home) -> tuple[int | None, str | None]:
    with home.queue() as queue:
        found = queue.store.queues().get("mail")
        assert found is not None
        return found.concurrency, found.rate

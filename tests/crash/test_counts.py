"""A recount that dies, and a tidying: the counts are as they were or as they should be."""

from __future__ import annotations

import subprocess
import sys

import pytest

from queuectl.store.tallies import totals
from tests.crash.checker import put
from tests.crash.points import armed
from tests.support.engines import SERVERS, on_engines
from tests.support.home import Home

pytestmark = on_engines(long=SERVERS)
TIDY = (
    "import sys; from queuectl.queue import Queue\n"
    "with Queue.open(sys.argv[1]) as queue: queue.store.bookkeeping().tidy()"
)


@pytest.mark.parametrize("point", ["recount.before_commit", "recount.committed"])
def test_a_recount_that_dies_may_be_repeated(home: Home, point: str) -> None:
    put(home, "a", "b")
    with home.queue() as queue:
        db = queue.store.connection
        db.write("change", lambda _: db.run("UPDATE jobs SET state = 'blocked', held = 1 WHERE id = 'a'"))
    assert home.q("doctor", "--recount", env=armed(home, point)).returncode == -9
    assert "the counts are right: 2 jobs" in home.q("doctor", "--recount").stdout
    with home.queue() as queue:
        assert totals(queue.store.connection) == {"default": {"blocked": 1, "pending": 1}}


@pytest.mark.parametrize("point", ["tidy.before_commit", "tidy.committed"])
def test_a_tidying_that_dies_loses_no_count(home: Home, point: str) -> None:
    put(home, "a", "b", queue="gone")
    put(home, "c")
    with home.queue() as queue:
        for id in ("a", "b"):
            queue.remove(id)
        queue.cancel("c")
    words = [sys.executable, "-c", TIDY, home.address]
    env = {**home.env, **armed(home, point)}
    assert subprocess.run(words, env=env, timeout=60, check=False).returncode == -9
    assert subprocess.run(words, env=home.env, timeout=60, check=False).returncode == 0
    with home.queue() as queue:
        db = queue.store.connection
        assert totals(db) == {"default": {"cancelled": 1}}
        assert db.all("SELECT DISTINCT queue FROM tallies WHERE minute = 0") == [("default",)]

"""A recount that dies, and a tidying: the counts are as they were or as they should be."""

from __future__ import annotations

import subprocess
import sys

import pytest

from queuectl.store.tallies import totals
from tests.crash.checker import put
from tests.crash.points import armed
from tests.site import Site

TIDY = (
    "import sys; from queuectl.queue import Queue\n"
    "with Queue.open(sys.argv[1]) as queue: queue.store.bookkeeping().tidy()"
)


@pytest.mark.parametrize("point", ["recount.before_commit", "recount.committed"])
def test_a_recount_that_dies_may_be_repeated(site: Site, point: str) -> None:
    put(site, "a", "b")
    with site.queue() as queue:
        db = queue.store.connection  # type: ignore[attr-defined]
        db.write("change", lambda _: db.run("UPDATE jobs SET state = 'blocked', held = 1 WHERE id = 'a'"))
    assert site.q("doctor", "--recount", env=armed(site, point)).returncode == -9
    assert "the counts are right: 2 jobs" in site.q("doctor", "--recount").stdout
    with site.queue() as queue:
        assert totals(queue.store.connection) == {"default": {"blocked": 1, "pending": 1}}  # type: ignore[attr-defined]


@pytest.mark.parametrize("point", ["tidy.before_commit", "tidy.committed"])
def test_a_tidying_that_dies_loses_no_count(site: Site, point: str) -> None:
    put(site, "a", "b", queue="gone")
    site.ok("rm", "a", "b")
    put(site, "c")
    words = [sys.executable, "-c", TIDY, site.address]
    site.ok("cancel", "c")
    env = {**site.env, **armed(site, point)}
    assert subprocess.run(words, env=env, timeout=60, check=False).returncode == -9
    assert subprocess.run(words, env=site.env, timeout=60, check=False).returncode == 0
    with site.queue() as queue:
        db = queue.store.connection  # type: ignore[attr-defined]
        assert totals(db) == {"default": {"cancelled": 1}}
        assert db.all("SELECT DISTINCT queue FROM tallies WHERE minute = 0") == [("default",)]

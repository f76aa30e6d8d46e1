"""Commands that die at every step of what they store: all of it is there or nothing; they may be repeated."""

from __future__ import annotations

import pytest

from tests.crash.checker import RECORD, check, check_whole, put, runs, settle
from tests.crash.points import OF_CHANGES, OF_ENQUEUE, OF_SETTINGS, OF_STOPS, armed
from tests.site import Site


def dies(site: Site, point: str, *words: str) -> None:
    assert site.q(*words, env=armed(site, point)).returncode == -9


@pytest.mark.parametrize("point", OF_ENQUEUE)
def test_an_enqueue_that_dies_leaves_the_job_absent_or_whole(site: Site, point: str) -> None:
    site.ok("init")
    dies(site, point, "enqueue", "--id", "one", "--command", RECORD)
    site.ok("enqueue", "--id", "one", "--command", RECORD, "--if-exists", "skip")
    with site.queue() as queue:
        assert [job.id for job in queue.list()] == ["one"]
    site.start()
    settle(site)
    check(site, ["one"])
    assert runs(site)["one"] == 1


@pytest.mark.parametrize("point", OF_CHANGES)
def test_a_cancel_that_dies_has_cancelled_all_or_none(site: Site, point: str) -> None:
    ids = [f"job{n}" for n in range(3)]
    put(site, *ids)
    dies(site, point, "cancel", "--all", "--yes")
    with site.queue() as queue:
        left = "pending" if point == "change.before_commit" else "cancelled"
        assert [queue.get(id).state for id in ids] == [left] * 3
    site.ok("cancel", "--all", "--yes")
    with site.queue() as queue:
        assert [queue.get(id).state for id in ids] == ["cancelled"] * 3
        check_whole(queue)


@pytest.mark.parametrize("point", OF_CHANGES)
def test_a_removal_that_dies_takes_attempts_along_with_their_job(site: Site, point: str) -> None:
    put(site, "job")
    site.start()
    settle(site)
    dies(site, point, "rm", "job")
    with site.queue() as queue:
        check_whole(queue)
        left = [job.id for job in queue.list()]
    assert left == (["job"] if point == "change.before_commit" else [])
    assert site.q("rm", "job").returncode == (0 if left else 1)
    with site.queue() as queue:
        assert queue.list() == []
        check_whole(queue)


@pytest.mark.parametrize("point", OF_SETTINGS)
def test_a_setting_whose_command_dies_is_the_old_one_or_the_new_one(site: Site, point: str) -> None:
    site.configure(**{"max-retries": "5"})
    dies(site, point, "config", "set", "max-retries", "7")
    stored = "5" if point == "config.before_commit" else "7"
    assert site.ok("config", "get", "max-retries") == f"{stored}\n"
    site.ok("config", "set", "max-retries", "7")
    assert site.ok("config", "get", "max-retries") == "7\n"


@pytest.mark.parametrize("point", OF_STOPS)
def test_a_stop_that_dies_can_be_repeated(site: Site, point: str) -> None:
    site.start(count=2)
    dies(site, point, "worker", "stop")
    site.ok("worker", "stop")
    assert site.workers() == []
    assert site.pids() == []

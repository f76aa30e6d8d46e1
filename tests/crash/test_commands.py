"""Commands that die at every step of what they store: all of it is there or nothing; they may be repeated."""

from __future__ import annotations

import pytest

from tests.crash.checker import RECORD, check, check_whole, put, runs, settle
from tests.crash.points import OF_CHANGES, OF_ENQUEUE, OF_SETTINGS, OF_STOPS, armed
from tests.support.engines import SERVERS, on_engines
from tests.support.fake_worker import FakeWorker
from tests.support.home import Home

pytestmark = on_engines(long=SERVERS)


def dies(home: Home, point: str, *words: str) -> None:
    assert home.q(*words, env=armed(home, point)).returncode == -9


@pytest.mark.parametrize("point", OF_ENQUEUE)
def test_an_enqueue_that_dies_leaves_the_job_absent_or_whole(home: Home, point: str) -> None:
    home.queue().close()
    dies(home, point, "enqueue", "--id", "one", "--command", RECORD)
    with home.queue() as queue:
        queue.enqueue(RECORD, id="one", cwd=str(home.work), if_exists="skip")
        assert [job.id for job in queue.list()] == ["one"]
    home.supervise()
    settle(home)
    check(home, ["one"])
    assert runs(home)["one"] == 1


@pytest.mark.parametrize("point", OF_CHANGES)
def test_a_cancel_that_dies_has_cancelled_all_or_none(home: Home, point: str) -> None:
    ids = [f"job{n}" for n in range(3)]
    put(home, *ids)
    dies(home, point, "cancel", "--all", "--yes")
    with home.queue() as queue:
        left = "pending" if point == "change.before_commit" else "cancelled"
        assert [queue.get(id).state for id in ids] == [left] * 3
    home.ok("cancel", "--all", "--yes")
    with home.queue() as queue:
        assert [queue.get(id).state for id in ids] == ["cancelled"] * 3
        check_whole(queue)


@pytest.mark.parametrize("point", OF_CHANGES)
def test_a_removal_that_dies_takes_attempts_along_with_their_job(home: Home, point: str) -> None:
    put(home, "job")
    with home.queue() as queue:
        worker = FakeWorker(queue)
        worker.end(worker.claim("job"), "succeeded", exit_code=0)
        worker.leave()
    dies(home, point, "rm", "job")
    with home.queue() as queue:
        check_whole(queue)
        left = [job.id for job in queue.list()]
    assert left == (["job"] if point == "change.before_commit" else [])
    assert home.q("rm", "job").returncode == (0 if left else 1)
    with home.queue() as queue:
        assert queue.list() == []
        check_whole(queue)


@pytest.mark.parametrize("point", OF_SETTINGS)
def test_a_setting_whose_command_dies_is_the_old_one_or_the_new_one(home: Home, point: str) -> None:
    home.configure(**{"max-retries": "5"})
    dies(home, point, "config", "set", "max-retries", "7")
    stored = "5" if point == "config.before_commit" else "7"
    with home.queue() as queue:
        assert queue.store.stored_config()["max-retries"] == stored
        queue.set_config("max-retries", "7")
        assert queue.store.stored_config()["max-retries"] == "7"


@pytest.mark.parametrize("point", OF_STOPS)
def test_a_stop_that_dies_can_be_repeated(home: Home, point: str) -> None:
    home.start(count=2)
    dies(home, point, "worker", "stop")
    home.ok("worker", "stop")
    assert home.workers() == []
    assert home.pids() == []

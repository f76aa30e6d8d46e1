"""One worker is told to end and nobody waits for it: what the page of workers does."""

from __future__ import annotations

import pytest

from queuectl.core import states
from queuectl.errors import NotFound
from queuectl.fleet import ask_to_stop
from queuectl.testing import wait_until
from tests.support.worker_home import WorkerHome


def test_a_worker_is_asked_to_end_with_its_jobs(home: WorkerHome) -> None:
    process = home.serve()
    job = home.enqueue("echo on; while ! test -e enough; do sleep 0.02; done")
    home.running(job)
    told = ask_to_stop(home.jobs, home.worker().id)
    assert (told.id, told.control) == (home.worker().id, "drain")
    later = home.enqueue("true")
    wait_until(lambda: "stopping" in home.log, what="the worker to hear of it")
    assert process.poll() is None
    (home.work / "enough").touch()
    assert process.wait(20) == 0
    assert [home.job(id).state for id in (job, later)] == [states.COMPLETED, states.PENDING]


def test_a_worker_is_asked_to_end_before_its_jobs(home: WorkerHome) -> None:
    process = home.serve()
    job = home.enqueue("echo on; exec sleep 60")
    home.running(job)
    assert ask_to_stop(home.jobs, home.worker().id, now=True).control == "now"
    assert process.wait(20) == 0
    assert home.job(job).state == states.PENDING
    assert home.job(job).attempts == 0


def test_the_second_request_may_be_more_urgent(home: WorkerHome) -> None:
    process = home.serve()
    job = home.enqueue("echo on; exec sleep 60")
    home.running(job)
    id = home.worker().id
    ask_to_stop(home.jobs, id)
    ask_to_stop(home.jobs, id, now=True)
    assert process.wait(20) == 0
    assert home.job(job).state == states.PENDING


def test_only_the_one_that_is_meant(home: WorkerHome) -> None:
    first = home.serve()
    one = home.worker().id
    second = home.serve()
    ask_to_stop(home.jobs, one)
    assert first.wait(20) == 0
    assert second.poll() is None
    assert [worker.id for worker in home.registered()] != [one]


def test_one_that_nobody_knows(home: WorkerHome) -> None:
    with pytest.raises(NotFound, match="no worker 'nobody'"):
        ask_to_stop(home.jobs, "nobody")
    process = home.serve()
    id = home.worker().id
    ask_to_stop(home.jobs, id)
    process.wait(20)
    with pytest.raises(NotFound):
        ask_to_stop(home.jobs, id)

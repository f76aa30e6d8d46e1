"""One worker is told to end and nobody waits for it: what the page of workers does."""

from __future__ import annotations

import pytest

from queuectl.core import states
from queuectl.errors import NotFound
from queuectl.fleet import ask_to_stop
from queuectl.testing import wait_until
from tests.worker.workshop import Workshop


def test_a_worker_is_asked_to_end_with_its_jobs(site: Workshop) -> None:
    process = site.serve()
    job = site.enqueue("echo on; while ! test -e enough; do sleep 0.02; done")
    site.running(job)
    told = ask_to_stop(site.jobs, site.worker().id)
    assert (told.id, told.control) == (site.worker().id, "drain")
    later = site.enqueue("true")
    wait_until(lambda: "stopping" in site.log, what="the worker to hear of it")
    assert process.poll() is None
    (site.work / "enough").touch()
    assert process.wait(20) == 0
    assert [site.job(id).state for id in (job, later)] == [states.COMPLETED, states.PENDING]


def test_a_worker_is_asked_to_end_before_its_jobs(site: Workshop) -> None:
    process = site.serve()
    job = site.enqueue("echo on; exec sleep 60")
    site.running(job)
    assert ask_to_stop(site.jobs, site.worker().id, now=True).control == "now"
    assert process.wait(20) == 0
    assert site.job(job).state == states.PENDING
    assert site.job(job).attempts == 0


def test_the_second_request_may_be_more_urgent(site: Workshop) -> None:
    process = site.serve()
    job = site.enqueue("echo on; exec sleep 60")
    site.running(job)
    id = site.worker().id
    ask_to_stop(site.jobs, id)
    ask_to_stop(site.jobs, id, now=True)
    assert process.wait(20) == 0
    assert site.job(job).state == states.PENDING


def test_only_the_one_that_is_meant(site: Workshop) -> None:
    first = site.serve()
    one = site.worker().id
    second = site.serve()
    ask_to_stop(site.jobs, one)
    assert first.wait(20) == 0
    assert second.poll() is None
    assert [worker.id for worker in site.registered()] != [one]


def test_one_that_nobody_knows(site: Workshop) -> None:
    with pytest.raises(NotFound, match="no worker 'nobody'"):
        ask_to_stop(site.jobs, "nobody")
    process = site.serve()
    id = site.worker().id
    ask_to_stop(site.jobs, id)
    process.wait(20)
    with pytest.raises(NotFound):
        ask_to_stop(site.jobs, id)

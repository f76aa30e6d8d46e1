"""Real workers fire schedules at their times, and go on sleeping in between."""

from __future__ import annotations

from itertools import pairwise

from queuectl import schedules
from queuectl.core.schedules import firing_id
from queuectl.testing import wait_until
from tests.worker.workshop import Workshop


def fired(site: Workshop, name: str) -> int:
    return schedules.get(site.jobs, name).fired


def test_a_worker_fires_one_on_time_though_its_heart_beats_slowly(site: Workshop) -> None:
    site.config(worker_heartbeat_interval="9s")
    site.serve()
    schedules.add(site.jobs, "tick", "@every 1s", {"command": "true"}, zone="UTC", overlap="allow")
    wait_until(lambda: fired(site, "tick") >= 3, what="three firings")
    jobs = [job for job in site.jobs.list() if job.schedule == "tick"]
    assert [job.id for job in jobs] == [firing_id("tick", job.created_at) for job in jobs]
    assert all(b.created_at - a.created_at < 5_000 for a, b in pairwise(jobs)), "it did not wait for a beat"
    site.ended(*(job.id for job in jobs))
    assert {site.job(job.id).state for job in jobs} == {"completed"}


def test_one_that_came_due_while_no_worker_ran_is_made_up_for(site: Workshop) -> None:
    one = schedules.add(site.jobs, "late", "@every 1s", {"command": "echo $QUEUECTL_JOB_ID"}, zone="UTC")
    wait_until(lambda: site.jobs.clock.now() > (one.next_at or 0) + 1_000, what="its time to pass")
    site.serve()
    wait_until(lambda: fired(site, "late"), what="the first firing")
    schedules.pause(site.jobs, "late")
    (job, *_) = site.jobs.list()
    site.ended(job.id)
    assert site.stdout(job.id).decode().strip() == job.id
    assert schedules.get(site.jobs, "late").skipped >= 1


def test_workers_together_fire_each_time_once(site: Workshop) -> None:
    site.serve(count=3)
    schedules.add(site.jobs, "tick", "@every 1s", {"command": "true"}, zone="UTC", overlap="allow")
    wait_until(lambda: fired(site, "tick") >= 3, what="three firings")
    schedules.remove(site.jobs, "tick")
    ids = [job.id for job in site.jobs.list()]
    assert len(ids) == len(set(ids))
    site.ended(*ids)

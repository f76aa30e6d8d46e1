"""What the processes of the tests of limits do."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from tests.concurrency.roles import now
from tests.support.engines import Place
from tests.support.jobs import HOST, described, register, report

from queuectl.errors import Refused
from queuectl.store.messages import Ask, JobFilter

if TYPE_CHECKING:
    from collections.abc import Callable

    from queuectl.core.job import Job

RUNNING = JobFilter(states=("processing",))


def sampler(go: Callable[[], object], place: Place, name: str, samples: int) -> tuple[int, int]:
    """Claim and finish without end; how many looks were taken, and the most that were seen running."""
    store = place.open()
    register(store, name)
    go()
    most = looks = 0
    held: list[Job] = []
    while looks < samples:
        # One of ours ends at a time, so that most of the room is always taken.
        reports = [report(held.pop(0), now=now())] if held else []
        answer = store.exchange(name, HOST, reports, Ask(name, os.urandom(8).hex(), 2), now())
        assert answer.stale == []
        held += answer.jobs
        for _ in range(5):
            most = max(most, store.count(RUNNING))
            looks += 1
    store.close()
    return looks, most


def starter(go: Callable[[], object], place: Place, name: str, seconds: float) -> tuple[list[int], list[int]]:
    """Claim and finish for so long; when each job was claimed, and when we asked, in milliseconds."""
    store = place.open()
    register(store, name)
    go()
    until = time.monotonic() + seconds
    started: list[int] = []
    asked: list[int] = []
    reports: list[object] = []
    while time.monotonic() < until:
        moment = now()
        answer = store.exchange(name, HOST, reports, Ask(name, os.urandom(8).hex(), 5), moment)  # type: ignore[arg-type]
        asked.append(moment)
        started += [moment] * len(answer.jobs)
        reports = [report(job, now=moment) for job in answer.jobs]
    store.close()
    return started, asked


def keyed_enqueuer(go: Callable[[], object], place: Place, name: str, tries: int) -> list[str]:
    """Try to be the one live job of each key; the keys that were won."""
    store = place.open()
    go()
    won = []
    for n in range(tries):
        try:
            store.enqueue([[described(f"{name}-{n}", unique_key=f"key{n}")]], now())
        except Refused:
            continue
        won.append(f"key{n}")
    store.close()
    return won

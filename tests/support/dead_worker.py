"""Workers that are gone, or are elsewhere: what they have left in the store and in their ledger."""

from __future__ import annotations

import os
import struct
import subprocess

from queuectl import system
from queuectl.core import states
from queuectl.system import portable as fallback
from tests.support.jobs import claim, register
from tests.support.processes import alive
from tests.support.worker_home import WorkerHome

NAME = "dead-worker"


def identity(*, portable: bool = False, **changes: str) -> str:
    """Of this process, with some parts changed; `portable`: as it is measured on other systems."""
    own = fallback.identify() if portable else system.identify()
    assert own is not None
    for name, value in changes.items():
        setattr(own, name, value)
    return own.encode()


def claim_by_a_dead_worker(home: WorkerHome, encoded: str, *, lease_ms: int = 600_000) -> str:
    """A worker of that identity has claimed a job and is not heard of again; the job's id."""
    id = home.enqueue("true")
    store = home.jobs.store
    who = {"identity": encoded, "host": system.hostname(), "session": os.getsid(0)}
    register(store, NAME, lease_ms=lease_ms, **who)
    (job,) = claim(store, worker_id=NAME, now=home.jobs.clock.now())
    assert job.id == id
    return id


def write_ledger(home: WorkerHome, content: bytes) -> None:
    (home.path / "run").mkdir(exist_ok=True)
    (home.path / "run" / f"{NAME}.ledger").write_bytes(content)


def job_of_a_dead_worker(home: WorkerHome, pid: int, *, lease_ms: int = 30_000, **changes: str) -> str:
    """A job that a worker holds whose identity is ours but for this, and whose ledger names the process."""
    id = claim_by_a_dead_worker(home, identity(**changes), lease_ms=lease_ms)
    write_ledger(home, struct.pack("<qq", home.job(id).seq, pid))
    return id


def spares_an_unrelated_process(home: WorkerHome, *, lease_ms: int, **changes: str) -> None:
    """Another process has the number of such a job's command now: the job runs again, nobody touches it."""
    unrelated = subprocess.Popen(["sleep", "60"], process_group=0)
    try:
        id = job_of_a_dead_worker(home, unrelated.pid, lease_ms=lease_ms, **changes)
        home.serve()
        assert (home.ended(id).state, home.job(id).lost) == (states.COMPLETED, 1)
        assert alive(unrelated.pid)
    finally:
        unrelated.kill()
        unrelated.wait()

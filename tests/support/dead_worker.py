"""Workers that are gone, or are elsewhere: what they have left in the store and in their ledger."""

from __future__ import annotations

import os
import struct
import subprocess

from queuectl import system
from queuectl.core import states
from tests.support.jobs import claim, register
from tests.support.processes import alive
from tests.support.worker_home import WorkerHome


def job_of_a_dead_worker(home: WorkerHome, pid: int, *, lease_ms: int = 30_000, **identity: str) -> str:
    """A job that a worker holds whose identity is ours but for this, and whose ledger names the process."""
    own = system.identify()
    assert own is not None
    for name, value in identity.items():
        setattr(own, name, value)
    id = home.enqueue("true")
    store = home.jobs.store
    who = {"identity": own.encode(), "host": system.hostname(), "session": os.getsid(0)}
    register(store, "ghost", lease_ms=lease_ms, **who)
    (job,) = claim(store, worker_id="ghost", now=home.jobs.clock.now())
    (home.path / "run").mkdir(exist_ok=True)
    (home.path / "run" / "ghost.ledger").write_bytes(struct.pack("<qq", job.seq, pid))
    return id


def spares_an_unrelated_process(home: WorkerHome, *, lease_ms: int, **identity: str) -> None:
    """A stranger has the number of such a job's command: the job runs again, nobody touches the stranger."""
    stranger = subprocess.Popen(["sleep", "60"], process_group=0)
    try:
        id = job_of_a_dead_worker(home, stranger.pid, lease_ms=lease_ms, **identity)
        home.serve()
        assert (home.ended(id).state, home.job(id).lost) == (states.COMPLETED, 1)
        assert alive(stranger.pid)
    finally:
        stranger.kill()
        stranger.wait()

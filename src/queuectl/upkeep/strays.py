"""What workers of this machine left behind that the store knows nothing of any more.

A whole machine was silent for longer than its lease: others have buried its workers and run their jobs again.
When it comes back, commands of then may still run here, and nobody else can end them. Likewise a worker that
was killed before it had registered leaves its files.
"""

from __future__ import annotations

import os
import time

from queuectl import doorbell, system
from queuectl.events import emit
from queuectl.failpoints import failpoint
from queuectl.upkeep.remains import kill_by_token, read_ledger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.store.api import Store

_SUFFIX = ".ledger"


def clear_strays(store: Store, lease_ms: int) -> None:
    """Once in a worker's life, after the workers that the store does know were looked at."""
    run_dir = store.location.run_dir
    present = os.listdir(run_dir) if os.path.isdir(run_dir) else []
    names = [name for name in present if name.endswith(_SUFFIX)]
    known = {worker.id for worker in store.workers()} if names else set()
    for name in names:
        worker = name.removesuffix(_SUFFIX)
        path = os.path.join(run_dir, name)
        if worker not in known and not _may_be_at_work(worker, path, lease_ms):
            _clear(worker, path, run_dir)


def _may_be_at_work(worker: str, path: str, lease_ms: int) -> bool:
    """One that is about to register, or one that is being told by its heart that it was buried."""
    try:
        if time.time() - os.stat(path).st_mtime < lease_ms / 1000:
            return True
        process = system.identify(int(worker.split("-")[-2]))
        return process is not None and system.liveness(process) != system.DEAD
    except (OSError, ValueError, IndexError):
        return True  # not a name of ours, or somebody else was faster


def _clear(worker: str, path: str, run_dir: str) -> None:
    processes, gone = 0, True
    for seq, process in (read_ledger(path) or {}).items():
        # By pid and time of birth it is the same; by its token, a command of that job. Nobody else is hit.
        if process.is_surely_there():
            tokens = [t for t in system.tokens_of(process.pid) if t.endswith(f".{seq}")]
            found, ended = kill_by_token(tokens)
            processes += found
            gone = gone and ended
    failpoint("stray.killed")
    # Without the ledger the next worker would not look for those that are left.
    for file in (doorbell.bell_path(run_dir, worker), path) if gone else ():
        try:
            os.unlink(file)
        except FileNotFoundError:
            pass
    emit("worker.cleared", worker=worker, processes=processes)

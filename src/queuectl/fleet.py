"""Workers from outside: start them in the background, stop them, know which ones live.

Being a worker is left to `worker`; this is what `queuectl worker …` does.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from queuectl import doorbell, system
from queuectl.app import living_workers
from queuectl.errors import NotFound, QueuectlError
from queuectl.paths import make_private_dir
from queuectl.store.messages import Worker
from queuectl.upkeep.rescuer import rescue
from queuectl.worker.process import daemon_environment
from queuectl.worker.supervisor import supervisors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from queuectl.paths import Location
    from queuectl.queue import Queue
    from queuectl.store.api import Store

__all__ = ["Stopped", "Worker", "on_this_machine", "start_background", "stop_workers", "worker_command"]

_START_WITHIN = 20.0
_START_EACH = 0.5
_ESCALATE_AFTER = 5.0  # seconds beyond the grace times: then the worker itself is killed
_DIE_WITHIN = 2.0  # seconds from a deadly signal until the process is gone


def worker_command(location: Location, *, concurrency: int | None, queues: Sequence[str] | None) -> list[str]:
    """How a worker process is started; -P keeps the current directory out of its module path.

    A server's address is left to the environment: in it there may be a password, which `ps` would show.
    """
    command = [sys.executable, "-P", "-m", "queuectl", "worker", "serve"]
    if not location.shared:
        command += ["--db", location.url]
    if concurrency is not None:
        command += ["--concurrency", str(concurrency)]
    if queues:
        command += ["--queue", ",".join(queues)]
    return command


def start_background(
    queue: Queue, count: int, *, concurrency: int | None, queues: Sequence[str] | None
) -> list[Worker]:
    """Start a supervisor and `count` workers that survive this terminal; returns them once they are ready."""
    location = queue.store.location
    if queue.settings.shutdown:
        queue.set_config("shutdown", None)
    make_private_dir(location.logs_dir)
    log = os.path.join(location.logs_dir, "workers.log")
    command = worker_command(location, concurrency=concurrency, queues=queues)
    command[command.index("serve")] = "supervise"
    fd = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        process = subprocess.Popen(
            [*command, "--count", str(count)],
            stdin=subprocess.DEVNULL,
            stdout=fd,
            stderr=fd,
            cwd=location.state_dir,
            env=daemon_environment(location.url),
            **system.detached_spawn_options(),  # type: ignore[call-overload]
        )
    finally:
        os.close(fd)
    return _await_workers(queue, process, count, log)


def _await_workers(queue: Queue, process: subprocess.Popen[bytes], count: int, log: str) -> list[Worker]:
    deadline = time.monotonic() + _START_WITHIN + count * _START_EACH
    while time.monotonic() < deadline:
        mine = [w for w in queue.store.workers() if w.supervisor == process.pid]
        if len(mine) >= count:
            return mine
        if process.poll() is not None:
            break
        queue.wait_for_change(min(deadline, time.monotonic() + 0.2))
    process.terminate()  # or it would go on trying behind our back
    raise QueuectlError("the workers did not start", f"their log says why: {log}")


class Stopped:
    """What a stop has done."""

    __slots__ = ("asked", "killed")

    def __init__(self, asked: list[Worker], killed: list[Worker]) -> None:
        self.asked = asked
        self.killed = killed  # those that did not end by themselves


def stop_workers(
    queue: Queue,
    *,
    ids: Sequence[str] = (),
    everywhere: bool = False,
    now: bool = False,
    timeout_ms: int | None = None,
    progress: Callable[[list[Worker]], None] | None = None,
) -> Stopped:
    """Ask workers to stop, wait for them, and end those that do not.

    All of this machine unless `ids` are given; with `everywhere`, those of all machines.
    """
    store, settings = queue.store, queue.settings

    def ours(workers: Sequence[Worker]) -> list[Worker]:
        return list(workers) if ids or everywhere else on_this_machine(store, workers)

    # Before the rescue: a worker that stands still may have lost its lease, and has to end all the same.
    here = ours(_still_there(store, store.workers()))
    rescue(store, settings, queue.clock.now())
    chosen = _choose(here, ids)
    request = "now" if now else "drain" if timeout_ms is None else f"drain {timeout_ms}"
    parents = [] if ids else [identity for identity, _ in supervisors(store.location.run_dir)]
    for identity in parents:
        system.signal_process(identity, system.RETIRE_SIGNAL)
    _ask(store, chosen, request)
    grace = 0 if now else settings.stop_grace if timeout_ms is None else timeout_ms
    deadline = time.monotonic() + (grace + settings.kill_grace) / 1000 + _ESCALATE_AFTER
    while True:
        if not ids:
            _ask_newcomers(store, chosen, ours(living_workers(store)), request)
        left, parents = _still_there(store, chosen), _alive(parents)
        if (not left and not parents) or time.monotonic() > deadline:
            break
        if progress is not None:
            progress(left)
        # Processes end without writing to the store, so look often whatever it says.
        queue.wait_for_change(time.monotonic() + 0.05)
    if left or parents:
        _kill(left, parents)
    # Always: one of them may have crashed on the way, and nobody else is left to free its jobs.
    rescue(store, settings, queue.clock.now())
    return Stopped(chosen, left)


def on_this_machine(store: Store, workers: Sequence[Worker]) -> list[Worker]:
    """Of a file, all of them are; of a server, those that have our host's name."""
    host = system.hostname()
    return [worker for worker in workers if not store.location.shared or worker.host == host]


def _choose(living: list[Worker], ids: Sequence[str]) -> list[Worker]:
    if not ids:
        return living
    by_id = {worker.id: worker for worker in living}
    for id in ids:
        if id not in by_id:
            raise NotFound(f"there is no worker {id[:80]!r}", "queuectl worker list shows them")
    return [by_id[id] for id in ids]


def _ask(store: Store, workers: Sequence[Worker], request: str) -> None:
    if workers:
        store.control([worker.id for worker in workers], request)
        doorbell.announce(store, doorbell.CONTROL)


def _ask_newcomers(store: Store, chosen: list[Worker], living: list[Worker], request: str) -> None:
    """Those that were still starting when we asked the others."""
    known = {worker.id for worker in chosen}
    newcomers = [worker for worker in living if worker.id not in known]
    _ask(store, newcomers, request)
    chosen += newcomers


def _still_there(store: Store, workers: Sequence[Worker]) -> list[Worker]:
    """Those whose process exists; where that cannot be told, those whose lease holds."""
    leased = {worker.id: worker for worker in living_workers(store)}
    found = []
    for worker in workers:
        lives = store.presence(worker)
        if lives == system.ALIVE or (lives == system.UNKNOWN and worker.id in leased):
            found.append(leased.get(worker.id, worker))
    return found


def _alive(processes: list[system.Identity]) -> list[system.Identity]:
    return [p for p in processes if system.liveness(p, same_host=True) == system.ALIVE]


def _kill(workers: list[Worker], parents: list[system.Identity]) -> None:
    """End what did not end when asked, and wait until it has."""
    host = system.hostname()
    processes = [system.Identity.decode(worker.identity) for worker in workers if worker.host == host]
    for identity in parents:
        # Not killed at once: it ends those of its workers that have not even come to say who they are.
        system.signal_process(identity, signal.SIGTERM)
    for identity in processes:
        system.signal_process(identity, signal.SIGKILL)
    _await_death(processes + parents)
    for identity in _alive(parents):
        system.signal_process(identity, signal.SIGKILL)
    _await_death(parents)


def _await_death(processes: list[system.Identity]) -> None:
    deadline = time.monotonic() + _DIE_WITHIN
    while _alive(processes) and time.monotonic() < deadline:
        time.sleep(0.005)

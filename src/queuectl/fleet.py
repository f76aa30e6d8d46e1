"""Workers from outside: start them in the background, stop them, know which ones live.

Being a worker is left to `worker`; this is what `queuectl worker …` does.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from itertools import chain

from queuectl import doorbell, system
from queuectl.app import count_running, living_workers, workers_at_work
from queuectl.assembly import WorkerSpec
from queuectl.core.dealing import spell_queues
from queuectl.core.pieces import spell
from queuectl.errors import NotFound, QueuectlError
from queuectl.paths import make_private_dir, workers_log
from queuectl.store.messages import Worker
from queuectl.upkeep.rescuer import rescue
from queuectl.worker.process import daemon_environment
from queuectl.worker.supervisor import missing, supervisors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from queuectl.core.pieces import Pieces
    from queuectl.paths import Location
    from queuectl.queue import Queue
    from queuectl.store.api import Store

__all__ = [
    "Stopped",
    "Worker",
    "await_workers",
    "crashing",
    "launch",
    "on_this_machine",
    "own_words",
    "start_background",
    "stop_workers",
    "supervisor_commands",
    "worker_command",
]

_START_WITHIN = 20.0
_START_EACH = 0.5
_ESCALATE_AFTER = 5.0  # seconds beyond the grace times: then the worker itself is killed
_DIE_WITHIN = 2.0  # seconds from a deadly signal until the process is gone


def worker_command(location: Location, spec: WorkerSpec) -> list[str]:
    """How a worker process is started; -P keeps the current directory out of its module path.

    A server's address is left to the environment: in it there may be a password, which `ps` would show.
    What it provides is left to `own_words`: no two workers have the same.
    """
    command = [sys.executable, "-P", "-m", "queuectl", "worker", "serve"]
    if not location.shared:
        command += ["--db", location.url]
    if spec.concurrency is not None:
        command += ["--concurrency", str(spec.concurrency)]
    if spec.queues:
        command += ["--queue", spell_queues(spec.queues, spec.weights)]
    if spec.limits and spec.limits.max_load is not None:
        command += ["--max-load", repr(spec.limits.max_load)]
    if spec.limits and spec.limits.min_free_memory is not None:
        command += ["--min-free-memory", str(spec.limits.min_free_memory)]
    return command


def own_words(shares: Sequence[Pieces]) -> list[list[str]]:
    """What each worker's own command says of the pieces that are its own."""
    return [["--provides", spell(share)] for share in shares] if any(shares) else []


def start_background(queue: Queue, shares: Sequence[Pieces], spec: WorkerSpec) -> list[Worker]:
    """Start a supervisor and workers that survive this terminal, one for each share of the resources.

    Returns them once they are ready.
    """
    process, log = launch(queue, shares, spec)
    return await_workers(queue, process, len(shares), log)


def launch(
    queue: Queue, shares: Sequence[Pieces], spec: WorkerSpec, *, fed: bool = False
) -> tuple[subprocess.Popen[bytes], str]:
    """A supervisor on its way, and its log. `fed`: each byte on its stdin lets one more worker begin."""
    location, count = queue.store.location, len(shares)
    if queue.settings.shutdown:
        queue.set_config("shutdown", None)
    make_private_dir(location.logs_dir)
    log = workers_log(location)
    command = worker_command(location, spec)
    command[command.index("serve")] = "supervise"
    log_words = ["--log-max", str(queue.settings.worker_log_max), *(["--fed"] if fed else [])]
    fd = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        process = subprocess.Popen(
            [*command, "--count", str(count), *log_words, *chain.from_iterable(own_words(shares))],
            stdin=subprocess.PIPE if fed else subprocess.DEVNULL,
            stdout=fd,
            stderr=fd,
            cwd=location.state_dir,
            env=daemon_environment(location.url),
            **system.detached_spawn_options(),  # type: ignore[call-overload]
        )
    finally:
        os.close(fd)
    return process, log


def await_workers(
    queue: Queue, process: subprocess.Popen[bytes], count: int, log: str, *, give_up: bool = True
) -> list[Worker]:
    """The workers of a supervisor, when there are so many; if there are not in time, it may be ended."""
    deadline = time.monotonic() + _START_WITHIN + count * _START_EACH
    try:
        while time.monotonic() < deadline:
            mine = [w for w in living_workers(queue.store) if w.supervisor == process.pid]
            if len(mine) >= count:
                return mine
            if process.poll() is not None:
                break
            queue.wait_for_change(min(deadline, time.monotonic() + 0.2))
        if _is_full(log):  # so it cannot say it itself
            raise QueuectlError(
                "the workers did not start: the disk is full", "free some space, and start again"
            )
        raise QueuectlError("the workers did not start", f"their log says why: {log}")
    except BaseException:  # also Ctrl+C, and a store that does not answer
        if give_up:
            process.terminate()  # or it would go on trying behind our back
        raise


def _is_full(log: str) -> bool:
    from shutil import disk_usage  # rarely needed, and slow to import

    try:
        return disk_usage(os.path.dirname(log)).free == 0
    except OSError:
        return False


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
            count_running(store, left)
            progress(left)
        # Processes end without writing to the store, so look often whatever it says.
        queue.wait_for_change(time.monotonic() + 0.05)
    if left or parents:
        _kill(left, parents)
    # Always: one of them may have crashed on the way, and nobody else is left to free its jobs.
    rescue(store, settings, queue.clock.now())
    return Stopped(chosen, left)


def supervisor_commands(queue: Queue) -> dict[int, list[str]]:
    """How the workers of each supervisor of this machine were started."""
    found = {}
    for identity, card in supervisors(queue.store.location.run_dir):
        command = card.get("command")
        found[identity.pid] = [str(word) for word in command] if isinstance(command, list) else []
    return found


def wanted_workers(queue: Queue) -> dict[int, int]:
    """How many workers each supervisor of this machine keeps up."""
    cards = supervisors(queue.store.location.run_dir)
    return {identity.pid: int(str(card.get("wanted", 0))) for identity, card in cards}


def crashing(queue: Queue) -> list[str]:
    """What to tell of this machine's workers that do not stay up."""
    return missing(queue.store.location.run_dir, [w.supervisor for w in living_workers(queue.store)])


def ask_to_stop(queue: Queue, id: str, *, now: bool = False) -> Worker:
    """Tell a worker to take no more jobs and to end, with its jobs or (`now`) before them; does not wait."""
    chosen = _choose(living_workers(queue.store), [id])
    _ask(queue.store, chosen, "now" if now else "drain")
    # As it stands in the store now; one without a job may be gone already.
    return next((worker for worker in workers_at_work(queue.store) if worker.id == id), chosen[0])


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

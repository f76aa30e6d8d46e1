"""What is waited for after a death, a cancel or a restart: scenes with real processes, measured some times.

A job's command notes by itself when it starts. Each scene runs in a process of its own, see recovery.py.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.home import Home
from tests.support.machines import Machine, Net
from tests.support.servers import PrivatePostgres
from tests.support.shared_queue import SharedQueue

from queuectl.testing import wait_until

Times = dict[str, list[float]]

# Its first attempt lasts until somebody ends it.
_NOTE = 'echo "$QUEUECTL_JOB_ID $QUEUECTL_ATTEMPT $(date +%s.%N)" >> starts.log; '
HANGS_ONCE = _NOTE + 'test "$QUEUECTL_ATTEMPT" -gt 1 || sleep 600'
# A tree with a process that has left its group and its parents.
_TREE = "sleep 600 & setsid sleep 600 & (sleep 600 &) ; "
OBEYS = _NOTE + _TREE + "wait"
IGNORES = _NOTE + "trap '' TERM; " + _TREE + "while :; do sleep 0.2; done"
GRACE = 1.0  # seconds, for those who ignore TERM
_PATIENCE = 60.0
_APART = 1.3  # seconds from one lost machine to the next: no part of a heartbeat interval


def worker_killed(samples: int) -> Times:
    """kill -9 of the worker that runs the job; beside it there is another one, or none."""
    times: Times = {}
    for name, count in (("worker killed, another beside it", 2), ("only worker killed", 1)):
        times[name] = []
        for _ in range(samples):
            with _site() as home:
                home.start(count=count)
                _put(home, "job", HANGS_ONCE)
                _started(home.work, "job", 1)
                began = time.time()
                os.kill(_owner(home, "job"), signal.SIGKILL)
                times[name].append(_started(home.work, "job", 2) - began)
    return times


def all_killed(samples: int) -> Times:
    """kill -9 of the supervisor and its workers, then a start: counted from that command on."""
    times: list[float] = []
    for _ in range(samples):
        with _site() as home:
            home.start()
            _put(home, "job", HANGS_ONCE)
            _started(home.work, "job", 1)
            for pid in home.supervisors() + home.workers():
                os.kill(pid, signal.SIGKILL)
            began = time.time()
            home.start()
            times.append(_started(home.work, "job", 2) - began)
    return {"all killed, from the next start on": times}


def cancelled(samples: int) -> Times:
    """From the request until no process of the job is left."""
    times: Times = {"cancel, TERM obeyed": [], "cancel, TERM ignored": []}
    with _site() as home:
        home.configure(**{"kill-grace": str(GRACE)})
        home.start()
        for number in range(samples):
            for name, command in (("cancel, TERM obeyed", OBEYS), ("cancel, TERM ignored", IGNORES)):
                id = f"{name.split()[-1]}{number}"
                _put(home, id, command)
                _started(home.work, id, 1)
                with home.queue() as queue:
                    wait_until(lambda: len(_of_jobs(home)) >= 4, timeout=_PATIENCE, what="the tree")
                    began = time.monotonic()
                    queue.cancel(id)
                    wait_until(lambda: not _of_jobs(home), timeout=_PATIENCE, what="the tree to be gone")
                    times[name].append(time.monotonic() - began)
    return times


def machine_lost(samples: int) -> Times:
    """Machines lose their power one after another; one is left. Lease and heartbeat are the usual ones."""
    with Net() as net, PrivatePostgres(listen=net.server_address) as server, _directory() as directory:
        place = SharedQueue(directory, server.fresh_url())
        try:
            machines = [net.machine(f"m{number}") for number in range(samples)]
            for number, machine in enumerate(machines):
                place.worker(home=f"home-{number}", popen=machine.popen).ready(timeout=_PATIENCE)
            ids = place.put({f"job{number}": HANGS_ONCE for number in range(samples)})
            for id in ids:
                _started(place.work, id, 1)
            owners = {place.queue.get(id).worker_id: id for id in ids}
            hosts = {worker.host: owners[worker.id] for worker in place.store.workers()}
            left = net.machine("left")
            place.worker("--concurrency", str(samples), home="home-left", popen=left.popen).ready()
            cut: dict[str, float] = {}
            for machine in machines:
                cut[hosts[machine.name]] = began = time.time()
                machine.close()
                # At another point of the others' heartbeats each time.
                wait_until(lambda began=began: time.time() > began + _APART, what="the next")  # type: ignore[misc]
            return {"machine lost": [_started(place.work, id, 2) - cut[id] for id in ids]}
        finally:
            place.close()


def machine_back(samples: int) -> Times:
    """A machine loses its power and boots again, with the store in a file on its disk."""
    times: list[float] = []
    with Net() as net:
        for _ in range(samples):
            with _site() as home:
                _put(home, "job", HANGS_ONCE)
                machine = net.machine("a")
                _work_on(machine, home)
                _started(home.work, "job", 1)
                machine.close()
                again = net.machine("a")
                began = time.time()
                _work_on(again, home)
                times.append(_started(home.work, "job", 2) - began)
                again.close()
    return {"machine back, from the start of its worker on": times}


def server_restarted(samples: int) -> Times:
    """A job that came just before the server went: when it runs, counted from the server's first answer."""
    times: list[float] = []
    with PrivatePostgres() as server, _directory() as directory:
        place = SharedQueue(directory, server.fresh_url())
        try:
            place.worker().ready(timeout=_PATIENCE)
            for number in range(samples):
                (busy,) = place.put({f"busy{number}": _NOTE + "until test -e go; do sleep 0.01; done"})
                _started(place.work, busy, 1)
                (next_one,) = place.put({f"next{number}": _NOTE})
                server.restart()
                began = time.time()
                (place.work / "go").touch()
                times.append(max(_started(place.work, next_one, 1) - began, 0.0))
                (place.work / "go").unlink()
        finally:
            place.close()
    return {"server restarted": times}


SCENES: dict[str, Callable[[int], Times]] = {
    scene.__name__: scene
    for scene in (worker_killed, all_killed, cancelled, machine_lost, machine_back, server_restarted)
}


@contextmanager
def _directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="queuectl-recovery-") as directory:
        yield Path(directory)


@contextmanager
def _site() -> Iterator[Home]:
    with _directory() as directory:
        home = Home(directory / "home")
        try:
            yield home
        finally:
            home.close()


def _put(home: Home, id: str, command: str) -> None:
    with home.queue() as queue:
        queue.enqueue_many([{"id": id, "command": command, "cwd": str(home.work)}])


def _started(work: Path, id: str, attempt: int) -> float:
    """Waits until it has; when, by the wall clock."""
    log, words = work / "starts.log", f"{id} {attempt} "

    def look() -> float | None:
        lines = log.read_text().splitlines() if log.exists() else []
        return next((float(line.split()[2]) for line in lines if line.startswith(words)), None)

    when = wait_until(look, timeout=_PATIENCE, what=f"attempt {attempt} of {id}")
    assert when is not None
    return when


def _owner(home: Home, id: str) -> int:
    with home.queue() as queue:
        owner = queue.get(id).worker_id
        return next(worker.pid for worker in queue.store.workers() if worker.id == owner)


def _of_jobs(home: Home) -> list[int]:
    """The living processes of its jobs."""
    found = []
    for pid in home.pids():
        try:
            if b"QUEUECTL_ATTEMPT_TOKEN=" in Path("/proc", str(pid), "environ").read_bytes():
                found.append(pid)
        except OSError:
            continue
    return found


def _work_on(machine: Machine, home: Home) -> None:
    machine.popen(
        [sys.executable, "-m", "queuectl", "worker", "start", "--foreground"],
        env=home.env,
        cwd=home.work,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

"""The troubles of a storm. Each goes on in a thread of its own until the storm is over, then it is mended.

Each has dice of its own, so what one chooses does not depend on the others; how far the work has come by then
is the machine's affair.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable

from tests.support import processes
from tests.support.servers.private import PrivateServer

from proof.storm.scene import SUPERVISOR, WORKER, Scene
from queuectl.errors import QueuectlError
from queuectl.testing import wait_until

_SUPERVISORS = 0.35  # of the kills
_CLIENTS = 0.1  # as many again, of programs that enqueue
_LONG_OUTAGES = 0.15  # of the restarts: longer than the lease
_OUTAGE = 3.0  # seconds, on the average, with the time that a server takes to recover

Trouble = Callable[[Scene], None]


def troubles(scene: Scene) -> list[Trouble]:
    return [
        kills,
        stops,
        *([restarts] if scene.server else []),
        *([partitions] if scene.proxy else []),
        people,
    ]


def kills(scene: Scene) -> None:
    """kill -9 of whoever it hits: workers, supervisors, and programs that enqueue."""
    dice = _dice(scene, "kills")
    pause = 0.85 * scene.plan.seconds / max(scene.plan.kills, 1)  # some hit nobody
    while not scene.over.wait(_pause(dice, pause)):
        if dice.random() < _CLIENTS:
            dice.choice(scene.programs).kill()
            scene.tally["kills of clients"] += 1
        word, what = (SUPERVISOR, "supervisors") if dice.random() < _SUPERVISORS else (WORKER, "workers")
        pids = [pid for pid in scene.processes(word) if pid not in scene.standing]
        if pids and _signal(dice.choice(pids), signal.SIGKILL):
            scene.tally[f"kills of {what}"] += 1


def stops(scene: Scene) -> None:
    """SIGSTOP of a worker until its lease has long ended, then SIGCONT."""
    dice = _dice(scene, "stops")
    lasts = scene.plan.lease + 1.0
    pause = max(scene.plan.seconds / max(scene.plan.stops, 1) - lasts - 1.0, 0.2)
    while not scene.over.wait(_pause(dice, pause)):
        pid = _freeze_one(scene, dice)
        if pid is None:
            continue
        try:
            time.sleep(lasts + dice.uniform(0, 1))
            if processes.is_stopped(pid):
                scene.tally["stops"] += 1
        finally:
            _signal(pid, signal.SIGCONT)
            scene.standing.discard(pid)


def _freeze_one(scene: Scene, dice: random.Random) -> int | None:
    """A worker that stands still outside of any transaction; None if there is none, or it went away."""
    pid = None
    try:
        with scene.queue() as queue:
            living = set(scene.processes(WORKER))
            pids = sorted(worker.pid for worker in queue.store.workers() if worker.pid in living)
            if not pids:
                return None
            pid = dice.choice(pids)
            scene.standing.add(pid)
            processes.freeze(pid, queue)
            return pid
    except (QueuectlError, ProcessLookupError, AssertionError):  # the server is away, or it was killed
        if pid is not None:
            _signal(pid, signal.SIGCONT)
            scene.standing.discard(pid)
        return None


def restarts(scene: Scene) -> None:
    """The server goes, politely or not, and comes back."""
    assert scene.server
    dice = _dice(scene, "restarts")
    ends = {"polite": _end_politely, "immediate": PrivateServer.stop_immediate, "kill -9": PrivateServer.kill}
    pause = max(scene.plan.seconds / max(scene.plan.restarts, 1) - _OUTAGE, 1.0)
    while not scene.over.wait(_pause(dice, pause)):
        kind = dice.choice(list(ends))
        ends[kind](scene.server)
        long = dice.random() < _LONG_OUTAGES
        time.sleep(scene.plan.lease + 1 if long else dice.uniform(0, 1.5))
        scene.server.start()
        scene.tally["restarts"] += 1
        scene.tally[f"restarts, {kind}"] += 1


def _end_politely(server: PrivateServer) -> None:
    """As the system's own scripts do; PostgreSQL would wait for its clients on a SIGTERM."""
    _signal(server.pid, signal.SIGINT if server.engine == "postgres" else signal.SIGTERM)
    wait_until(lambda: not server.alive, timeout=60, what="the server to end")
    server.stop_immediate()


def partitions(scene: Scene) -> None:
    """Some of the workers do not reach the server for longer than their lease; then they do again."""
    assert scene.proxy
    dice = _dice(scene, "partitions")
    lasts = scene.plan.lease + 1.0
    pause = max(scene.plan.seconds / max(scene.plan.partitions, 1) - lasts - 1.0, 1.0)
    while not scene.over.wait(_pause(dice, pause)):
        silent = dice.random() < 0.5  # nothing comes through; else all is cut and refused
        try:
            if silent:
                scene.proxy.freeze()
            else:
                scene.proxy.refuse()
                scene.proxy.cut_all()
            time.sleep(lasts + dice.uniform(0, 2))
            scene.tally["partitions"] += 1
            scene.tally[f"partitions, {'silent' if silent else 'refused'}"] += 1
        finally:
            scene.proxy.freeze(False)
            scene.proxy.refuse(False)


def people(scene: Scene) -> None:
    """No trouble themselves: they enqueue by the command line in the middle of it."""
    dice = _dice(scene, "people")
    while not scene.over.wait(_pause(dice, 1.5)):
        scene.person.enqueue()


def _dice(scene: Scene, name: str) -> random.Random:
    return random.Random(f"{scene.plan.seed}/{scene.plan.engine}/{name}")


def _pause(dice: random.Random, average: float) -> float:
    return dice.uniform(0.5, 1.5) * average


def _signal(pid: int, signum: signal.Signals) -> bool:
    try:
        os.kill(pid, signum)
    except ProcessLookupError:
        return False
    return True

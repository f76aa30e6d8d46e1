"""Workers in the background of a machine whose store is on a server."""

from __future__ import annotations

import os
import signal

from queuectl.queue import Queue
from queuectl.testing import wait_until
from tests.smoke.conftest import Cli
from tests.support.home import Home


def test_workers_start_survive_a_kill_and_stop(home: Home, cli: Cli, queue: Queue) -> None:
    home.ok("worker", "start", "--count", "2")
    first = {worker["id"]: worker["pid"] for worker in cli("worker", "list", "--json").json()}
    assert len(first) == 2
    queue.enqueue("test -e begun || { touch begun; exec sleep 60; }", id="survives")
    wait_until((home.work / "begun").exists, what="the job to begin")
    killed = queue.store.get("survives")
    assert killed is not None
    os.kill(first[killed.worker_id], signal.SIGKILL)
    assert cli("wait", "survives", "--timeout", "60s").code == 0
    history = cli("show", "--json", "survives").json()["history"]
    assert [attempt["outcome"] for attempt in history] == ["lost", "succeeded"]
    wait_until(lambda: len(home.workers()) == 2, what="another worker to take its place")
    home.ok("worker", "stop")
    assert cli("worker", "list", "--json").json() == []
    assert home.pids() == []

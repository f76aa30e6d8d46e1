"""Several computers and one server: cables that are pulled, machines without power, workers that die."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from queuectl.testing import wait_until
from tests.faults.names import NameServer
from tests.faults.records import kept
from tests.faults.ticks import TICKING, assert_no_overlap, lives
from tests.support.machines import Net, require_namespaces
from tests.support.servers.private import SERVERS
from tests.support.shared_queue import SharedQueue, WorkerProcess

pytestmark = pytest.mark.long


@pytest.fixture
def net() -> Iterator[Net]:
    require_namespaces()
    with Net() as net:
        yield net


@pytest.fixture
def names(net: Net) -> Iterator[NameServer]:
    with NameServer(net.server_address) as names:
        yield names


@pytest.fixture
def place(engine: str, net: Net, tmp_path: Path) -> Iterator[SharedQueue]:
    """On a server that all machines reach."""
    with SERVERS[engine](listen=net.server_address) as server:
        place = SharedQueue(tmp_path, server.fresh_url())
        place.configure(worker_heartbeat_interval="500ms", worker_lease="6s")
        yield place
        place.close()


def lease_end(place: SharedQueue, worker_process: WorkerProcess) -> float:
    """By the wall clock, which the server and all machines share."""
    return (
        next(worker.lease_until for worker in place.store.workers() if worker.id == worker_process.ids()[-1])
        / 1000
    )


def test_a_machine_that_is_cut_off_gives_up_in_time_and_comes_back(
    place: SharedQueue, net: Net, names: NameServer
) -> None:
    """Its name server too is out of reach then, so that it cannot even tell where the server is."""
    a, b = net.machine("a"), net.machine("b")
    named = place.url.replace(net.server_address, "db.example.org")
    popen = names.used_by(a, place.directory)
    first = place.worker("--concurrency", "2", home="home-a", url=named, popen=popen).ready()
    ids = place.put({"j1": TICKING, "j2": TICKING})
    wait_until(lambda: len(lives(place)) == 2, what="both commands to run")
    second = place.worker("--concurrency", "2", home="home-b", popen=b.popen).ready()

    a.cut()
    end = lease_end(place, first)
    wait_until(lambda: not first.commands(), what="the machine to end its commands")
    gone = time.time()
    assert gone < end
    wait_until(lambda: place.completed() == 2, what="the other to do the work")
    for id in ids:
        one, two = lives(place)[id].values()
        assert (one.host, two.host) == ("a", "b")
        assert one.last < gone < end < two.first
        assert kept(place)[id].outcomes == ("lost", "succeeded")
    finished = kept(place)

    second.stop()
    place.put({"after": "true"})
    a.join()
    place.settle()
    assert kept(place).items() >= finished.items()
    assert_no_overlap(place)
    assert first.process.poll() is None, first.log
    assert first.ids()[1:] == [kept(place)["after"].workers[0]]
    first.stop()


def test_a_machine_without_power_keeps_its_jobs_for_one_lease(place: SharedQueue, net: Net) -> None:
    a, b, c = (net.machine(name) for name in "abc")
    first = place.worker("--concurrency", "3", home="home-a", popen=a.popen).ready()
    ids = place.put({f"j{number}": TICKING for number in range(3)})
    wait_until(lambda: len(lives(place)) == 3, what="the commands to run")
    others = [
        place.worker("--concurrency", "2", home=f"home-{machine.name}", popen=machine.popen).ready()
        for machine in (b, c)
    ]
    a.close()
    end = lease_end(place, first)
    assert not first.commands()
    place.settle()
    for id in ids:
        one, two = lives(place)[id].values()
        assert one.host == "a"
        assert two.host in ("b", "c")
        # A heartbeat later at the latest, and no sooner: the dead cannot be told from the silent.
        assert end < two.first < end + 3
        assert kept(place)[id].outcomes == ("lost", "succeeded")
    assert_no_overlap(place)
    for worker_process in others:
        worker_process.stop()


def test_a_worker_that_dies_is_noticed_by_its_neighbours_at_once(place: SharedQueue, net: Net) -> None:
    a, b = net.machine("a"), net.machine("b")
    worker_process = place.worker(count=2, home="home-a", popen=a.popen).ready()
    place.put({"j": TICKING})
    wait_until(lambda: lives(place), what="the command to run")
    place.worker(home="home-b", popen=b.popen).ready()
    (worker,) = {parent(pid) for pid in worker_process.commands()} & set(worker_process.pids())
    killed = time.time()
    os.kill(worker, signal.SIGKILL)
    place.settle()
    assert lives(place)["j"][2].first < killed + 2
    assert kept(place)["j"].outcomes == ("lost", "succeeded")
    assert_no_overlap(place)


def test_machines_of_one_name_leave_each_other_alone(place: SharedQueue, net: Net) -> None:
    """Images of virtual machines are copied, names and all."""
    one, two = net.machine("twin"), net.machine("twin")
    first = place.worker(home="home-1", popen=one.popen).ready()
    place.put({"j": TICKING})
    wait_until(lambda: lives(place), what="the command to run")
    place.worker(home="home-2", popen=two.popen).ready()
    began = time.monotonic()
    wait_until(lambda: time.monotonic() - began > 3, what="three heartbeats")
    assert list(lives(place)["j"]) == [1]
    assert len(first.ids()) == 1


def parent(pid: int) -> int:
    return int(Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()[1])

"""Resources of a worker and limits of its machine: what is claimed, told to a command, given back."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from queuectl.config.settings import Settings
from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.core.admission import Limits
from queuectl.core.pieces import read
from queuectl.testing import wait_until
from queuectl.worker.clerk import Clerk
from queuectl.worker.desk import Desk
from queuectl.worker.gate import Gate
from queuectl.worker.stock import Stock
from tests.support.worker_home import WorkerHome
from tests.worker.test_desk import WorkerWithFakeCommands

# --- the desk with time turned by hand ---------------------------------------------------------------------


class WorkerWithPieces(WorkerWithFakeCommands):
    """Its worker has pieces of resources, or looks at its machine first."""

    def provide(self, provides: str = "", **options: Any) -> None:
        self.stock = Stock(read(provides))
        settings = Settings({"claim-ahead": "64"})
        options = {"queues": None, "only": None, "stock": self.stock, **options}
        self.desk = Desk(self.store, self.clock, settings, Clerk(), **options)

    def learn_that_jobs_are_short(self) -> None:
        """Jobs have been short: as many as allowed are claimed ahead."""
        for _ in range(20):
            self.desk.pace.learn(0.001)

    def enqueue_needing(self, count: int, needs: str = "gpu=1") -> list[str]:
        return [self.queue.enqueue("true", needs=needs).id for _ in range(count)]

    def start(self) -> None:
        before = len(self.running)
        super().start()
        for job in self.running[before:]:
            if job.needs is not None:
                self.stock.take(job)

    def end(self, seconds: float = 0.001) -> None:
        if self.running[0].needs is not None:
            self.stock.give(self.running[0])
        super().end(seconds)


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[WorkerWithPieces]:
    it = WorkerWithPieces(tmp_path, slots=4)
    it.provide()
    yield it
    it.me.close()
    it.store.close()


def test_no_more_is_claimed_than_there_are_pieces(worker: WorkerWithPieces) -> None:
    worker.provide("gpu=2")
    worker.enqueue_needing(5)
    worker.exchange()
    assert len(worker.desk.ahead) == 2
    worker.start()
    worker.exchange()
    assert len(worker.desk.ahead) == 0
    worker.end()
    assert worker.due()
    worker.exchange()
    assert len(worker.desk.ahead) == 1


def test_pieces_of_jobs_that_wait_for_their_start_are_not_free(worker: WorkerWithPieces) -> None:
    worker.provide("gpu=3")
    worker.enqueue_needing(1)
    worker.exchange()
    assert worker.stock.free(worker.desk.ahead) == {"gpu": 2}
    worker.enqueue_needing(5)
    worker.desk.rung()
    worker.exchange()
    assert len(worker.desk.ahead) == 3
    assert worker.stock.free(worker.desk.ahead) == {}


def test_what_needs_pieces_is_claimed_for_free_slots_alone(worker: WorkerWithPieces) -> None:
    worker.provide("license=50")
    worker.learn_that_jobs_are_short()
    worker.enqueue_needing(20, "license=1")
    worker.exchange()
    assert len(worker.desk.ahead) == 4
    worker.start()
    worker.enqueue(20)
    worker.desk.rung()
    worker.exchange()
    assert [job.needs for job in worker.desk.ahead] == [None] * 20


def test_a_worker_without_pieces_leaves_jobs_with_needs_alone(worker: WorkerWithPieces) -> None:
    worker.enqueue_needing(3)
    plain = worker.enqueue(1)
    worker.exchange()
    assert [job.id for job in worker.desk.ahead] == plain


def test_queues_are_served_in_their_order(worker: WorkerWithPieces) -> None:
    worker.provide(queues=("b", "a"))
    for name, priority in [("a", 9), ("b", 0), ("a", 9), ("b", 1), ("c", 99)]:
        worker.queue.enqueue("true", queue=name, priority=priority)
    worker.exchange()
    assert [(job.queue, job.priority) for job in worker.desk.ahead] == [
        ("b", 1),
        ("b", 0),
        ("a", 9),
        ("a", 9),
    ]


def test_weighted_queues_share_the_claims(worker: WorkerWithPieces) -> None:
    worker.provide(queues=("a", "b"), weights=(3, 1))
    for name in "ab":
        for _ in range(20):
            worker.queue.enqueue("true", queue=name)
    taken: Counter[str] = Counter()
    for _ in range(4):  # four at a time: no chance in it
        worker.exchange()
        taken.update(job.queue for job in worker.desk.ahead)
        worker.start()
        while worker.running:
            worker.end(seconds=1)
    assert taken == {"a": 12, "b": 4}
    while worker.due():
        worker.exchange()
        taken.update(job.queue for job in worker.desk.ahead)
        worker.start()
        while worker.running:
            worker.end(seconds=1)
    assert taken == {"a": 20, "b": 20}  # what one has not, the other fills


def limited(worker: WorkerWithPieces) -> list[float]:
    """A gate that reads the load from the list, whose last entry counts."""
    loads = [1.0]
    worker.provide(gate=Gate(Limits(max_load=4), lambda: loads[-1]))
    worker.desk.look_at_the_machine()
    return loads


def test_beyond_its_limit_a_worker_claims_nothing_and_gives_back_what_it_holds(
    worker: WorkerWithPieces,
) -> None:
    loads = limited(worker)
    worker.learn_that_jobs_are_short()
    worker.enqueue(30)
    worker.exchange()
    worker.start()
    assert len(worker.desk.ahead) == 26
    loads.append(5.0)
    worker.clock.advance(1.0)
    worker.desk.look_at_the_machine()
    assert not worker.desk.ahead
    assert worker.due()  # to give it back
    worker.exchange()
    assert worker.counts() == {states.PROCESSING: 4, states.PENDING: 26}
    worker.end()  # what runs goes on
    worker.exchange()
    assert not worker.desk.ahead
    assert not worker.due()
    assert worker.desk.wake_at() <= worker.clock.monotonic() + 1.0


def test_below_its_limit_it_claims_again_at_once(worker: WorkerWithPieces) -> None:
    loads = limited(worker)
    loads.append(5.0)
    worker.clock.advance(1.0)
    worker.desk.look_at_the_machine()
    worker.enqueue(1)
    assert not worker.due()
    loads.append(1.0)
    worker.clock.advance(1.0)
    worker.desk.look_at_the_machine()
    assert worker.due()
    worker.exchange()
    assert len(worker.desk.ahead) == 1


def test_an_answer_that_comes_too_late_is_given_back(worker: WorkerWithPieces) -> None:
    loads = limited(worker)
    worker.enqueue(1)
    worker.desk.exchange(0, worker.me)
    loads.append(5.0)
    worker.clock.advance(1.0)
    worker.desk.look_at_the_machine()
    worker.desk.conclude(worker.me)
    assert not worker.desk.ahead
    worker.exchange()
    assert worker.counts() == {states.PENDING: 1}


# --- the stock ----------------------------------------------------------------------------------------------


def test_pieces_come_back_to_their_place(worker: WorkerWithPieces) -> None:
    worker.provide("gpu=3")
    worker.enqueue_needing(2)
    worker.exchange()
    first, second = worker.desk.ahead
    assert (worker.stock.take(first), worker.stock.take(second)) == ({"gpu": ["0"]}, {"gpu": ["1"]})
    worker.stock.give(first)
    assert worker.stock.free([]) == {"gpu": 2}
    assert worker.stock.take(first) == {"gpu": ["0"]}
    worker.stock.give(first)
    with pytest.raises(KeyError):  # twice would hand it out twice
        worker.stock.give(first)


def test_too_few_pieces_change_nothing(worker: WorkerWithPieces) -> None:
    worker.provide("gpu=1")
    worker.enqueue_needing(1)
    worker.exchange()
    (job,) = worker.desk.ahead
    job.needs = "gpu=2"
    with pytest.raises(ValueError, match="gpu=2 is more than there is"):
        worker.stock.take(job)
    assert worker.stock.free([]) == {"gpu": 1}


# --- real workers -------------------------------------------------------------------------------------------

# Keeps a directory per piece while it runs: mkdir fails if another has the same piece.
ALONE = 'x=$CUDA_VISIBLE_DEVICES; mkdir "busy-$x" && sleep 0.02 && echo "$x" && rmdir "busy-$x"'


def test_never_two_commands_have_the_same_piece(home: WorkerHome) -> None:
    home.serve("--concurrency", "4", "--provides", "gpu=2")
    ids = [home.enqueue(ALONE, needs="gpu=1", max_retries=0) for _ in range(30)]
    home.ended(*ids)
    assert [home.job(id).state for id in ids] == [states.COMPLETED] * 30
    seen = Counter(home.stdout(id).decode().strip() for id in ids)
    assert set(seen) <= {"0", "1"}
    assert seen["0"] > 0


def test_processes_of_one_start_share_the_pieces_out(home: WorkerHome) -> None:
    home.serve("--concurrency", "4", "--provides", "gpu=ids:3+5+7", count=2)
    assert sorted(str(worker.provides) for worker in home.registered()) == ["gpu=ids:3+5", "gpu=ids:7"]
    ids = [home.enqueue(ALONE, needs="gpu=1", max_retries=0) for _ in range(30)]
    home.ended(*ids)
    assert [home.job(id).state for id in ids] == [states.COMPLETED] * 30
    assert {home.stdout(id).decode().strip() for id in ids} <= {"3", "5", "7"}


def test_a_command_is_told_its_pieces_and_its_own_variables_win(home: WorkerHome) -> None:
    home.serve(
        "--provides", "gpu=2,big-disk=1", env={"CUDA_VISIBLE_DEVICES": "9", "QUEUECTL_RESOURCE_X": "1"}
    )
    shown = (
        'echo "$QUEUECTL_RESOURCE_GPU|$CUDA_VISIBLE_DEVICES|$QUEUECTL_RESOURCE_BIG_DISK|$QUEUECTL_RESOURCE_X"'
    )
    both = home.run(shown, needs="gpu=2,big-disk")
    own = home.run(shown, needs="gpu=1", env={"CUDA_VISIBLE_DEVICES": "mine"})
    none = home.run(shown)
    assert home.stdout(both.id) == b"0,1|0,1|0|\n"
    assert home.stdout(own.id) == b"0|mine||\n"
    assert home.stdout(none.id) == b"|9||\n"


def test_a_job_that_needs_more_than_anybody_has_waits_and_holds_up_nobody(home: WorkerHome) -> None:
    home.serve("--provides", "gpu=1")
    big = home.enqueue("true", needs="gpu=2", priority=9)
    assert home.run("true", needs="gpu=1").state == states.COMPLETED
    assert home.run("true").state == states.COMPLETED
    assert home.job(big).state == states.PENDING


def test_pieces_come_back_however_a_command_ends(home: WorkerHome) -> None:
    home.serve("--concurrency", "2", "--provides", "gpu=1")

    def they_are_back() -> None:
        assert home.stdout(home.run("echo $QUEUECTL_RESOURCE_GPU", needs="gpu=1").id) == b"0\n"

    assert home.run("exit 3", needs="gpu=1").state == states.DEAD
    they_are_back()
    assert home.attempt(home.run(["/no/such"], needs="gpu=1").id).outcome == kinds.SPAWN_ERROR
    they_are_back()
    assert home.attempt(home.run("sleep 60", needs="gpu=1", timeout="200ms").id).outcome == kinds.TIMEOUT
    they_are_back()
    id = home.enqueue("echo up; sleep 60", needs="gpu=1")
    home.running(id)
    home.jobs.cancel(id)
    assert home.ended(id).state == states.CANCELLED
    they_are_back()


def test_a_worker_declared_dead_has_all_its_pieces_when_it_comes_back(home: WorkerHome) -> None:
    home.config(worker_heartbeat_interval="100ms")
    home.serve("--provides", "gpu=2")
    id = home.enqueue('echo up; test "$QUEUECTL_ATTEMPT" -gt 1 || sleep 60', needs="gpu=2")
    home.running(id)
    old = home.worker()
    wait_until(lambda: home.jobs.store.bury(home.worker()), what="the worker to be buried")
    assert home.ended(id).state == states.COMPLETED
    assert home.worker().id != old.id
    assert home.worker().provides == "gpu=2"


def test_a_crashed_workers_successor_has_the_same_pieces(home: WorkerHome) -> None:
    home.ok("worker", "start", "--count", "2", "--provides", "gpu=2")
    before = {str(worker.provides): worker.pid for worker in home.registered()}
    assert sorted(before) == ["gpu=1", "gpu=ids:1"]
    os.kill(before["gpu=ids:1"], signal.SIGKILL)
    wait_until(
        lambda: [w.provides for w in home.registered() if w.pid not in before.values()] == ["gpu=ids:1"],
        what="a successor",
    )


@pytest.mark.long
def test_a_restart_keeps_pieces_queues_and_limits(home: WorkerHome) -> None:
    options = ("--queue", "a=3,b=1", "--max-load", "5000", "--min-free-memory", "1K", "--concurrency", "2")
    home.ok("worker", "start", "--count", "2", "--provides", "gpu=2", *options)
    home.ok("worker", "start", "--concurrency", "3")
    before = {worker.pid for worker in home.registered()}
    home.ok("worker", "restart")
    workers = json.loads(home.ok("worker", "list", "--json"))
    assert not before & {worker["pid"] for worker in workers}
    found = sorted(((w["queues"], w["weights"], w["provides"], w["concurrency"]) for w in workers), key=repr)
    shared = (["a", "b"], [3, 1])
    assert found == sorted(
        [(*shared, {"gpu": ["0"]}, 2), (*shared, {"gpu": ["1"]}, 2), (None, None, None, 3)], key=repr
    )
    commands = [Path("/proc", str(pid), "cmdline").read_bytes().split(b"\0") for pid in home.workers()]
    limits = [words[words.index(b"--max-load") + 1] for words in commands if b"--max-load" in words]
    assert limits == [b"5000.0", b"5000.0"]
    assert sum(b"--min-free-memory" in words for words in commands) == 2


def test_the_pieces_of_a_living_worker_are_refused_to_another(home: WorkerHome) -> None:
    home.ok("worker", "start", "--provides", "gpu=2")
    for words in (["start"], ["start", "--foreground"], ["scale", "3"]):
        result = home.q("worker", *words, "--provides", "gpu=ids:1+2")
        assert result.returncode == 4, result
        assert f"gpu 1 belongs to worker {home.worker().id} already" in result.stderr
    home.ok("worker", "start", "--provides", "gpu=ids:2+3")
    assert len(home.registered()) == 2


def test_of_two_starts_at_the_same_time_one_has_the_piece(home: WorkerHome) -> None:
    """The first is held up between its look and its worker's row; the second must not look meanwhile."""
    slow = {"QUEUECTL_ENABLE_FAILPOINTS": "1", "QUEUECTL_FAILPOINT": "register.before_commit=sleep:1"}
    first = home.popen("worker", "start", "--provides", "gpu=ids:7", env=slow)
    wait_until(home.supervisors, what="the first to start its worker")
    second = home.popen("worker", "start", "--provides", "gpu=ids:7")
    _, refusal = second.communicate(timeout=60)
    first.communicate(timeout=60)
    assert (first.returncode, second.returncode) == (0, 4), refusal
    assert f"gpu 7 belongs to worker {home.worker().id} already" in refusal


def test_scaling_down_spares_those_that_provide(home: WorkerHome) -> None:
    home.ok("worker", "start")
    home.ok("worker", "scale", "2", "--provides", "gpu=2")
    home.ok("worker", "scale", "1")
    assert home.worker().provides == "gpu=2"


def test_a_machine_beyond_its_limit_starts_nothing_and_the_log_says_so_once(home: WorkerHome) -> None:
    home.serve("--min-free-memory", "8000T")
    wait_until(lambda: "claims nothing for now: " in home.log, what="the log to say so")
    full = home.worker().id
    id = home.enqueue("true")
    home.serve("--max-load", "5000", "--min-free-memory", "1")
    assert home.ended(id).state == states.COMPLETED
    assert home.attempt(id).worker_id != full
    assert home.log.count("claims nothing for now: ") == 1
    assert "of memory are free, 8000T must stay so" in home.log


def test_run_waits_for_a_worker_that_has_what_the_job_needs(home: WorkerHome) -> None:
    home.serve("--provides", "gpu=1")
    assert (
        home.ok("run", "--needs", "gpu=1", "--", "sh", "-c", "echo got $QUEUECTL_RESOURCE_GPU") == "got 0\n"
    )


IMPATIENT = """
import sys
from queuectl import fleet
from queuectl.cli.main import main
for name in ("_START_WITHIN", "_START_EACH"):
    getattr(fleet, name)  # it must exist: a bound that has moved would stay as it is
    setattr(fleet, name, 0.0)
sys.exit(main(["worker", "restart"]))
"""


def test_a_restart_that_gives_up_waiting_leaves_somebody_who_will_have_the_pieces(home: WorkerHome) -> None:
    """The old one is gone by then: its piece of the machine belongs to one worker at a time."""
    home.ok("worker", "start", "--provides", "gpu=1")
    old = home.worker()
    done = subprocess.run(
        [sys.executable, "-c", IMPATIENT], env=home.env, capture_output=True, text=True, check=False
    )
    assert (done.returncode, "the workers did not start" in done.stderr) == (1, True), done.stderr
    wait_until(lambda: [w.provides for w in home.registered()] == ["gpu=1"], what="a successor")
    assert home.worker().id != old.id

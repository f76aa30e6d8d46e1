"""What workers are started with: queues and their weights, resources, limits of the machine."""

from __future__ import annotations

from typing import Any

from tests.support.cli import Cli

from queuectl.paths import make_private_dir
from queuectl.queue import Queue
from queuectl.store.messages import Worker
from queuectl.worker.membership import Membership

BAD = [
    ("--queue", "a=0"),
    ("--queue", "a=2,a=1"),
    ("--queue", "a,,b"),
    ("--provides", "gpu=many"),
    ("--provides", "gpu=1", "--provides", "gpu=2"),
    ("--provides", "GPU=1"),
    ("--provides", "license=100000", "--count", "2"),
    ("--max-load", "0"),
    ("--max-load", "nan"),
    ("--min-free-memory", "lots"),
]


def test_bad_options_are_refused_before_anything_is_started(cli: Cli) -> None:
    for words in BAD:
        assert cli.failure("worker", "start", *words) == (2, "invalid_input"), words
    assert cli("worker", "list", "--json").json() == []


def known(queue: Queue, **fields: Any) -> Worker:
    """A living worker as another process would have registered it."""

    make_private_dir(queue.store.location.run_dir)
    me = Membership(queue.store, concurrency=1, supervisor=None, **{"queues": None, **fields})
    me.register(queue.store, 60_000, queue.clock.now())
    (worker,) = [worker for worker in queue.store.workers() if worker.id == me.id]
    me.close()
    return worker


def test_the_list_shows_queues_weights_and_resources(cli: Cli, queue: Queue) -> None:
    known(queue, queues=("web", "bulk"), weights=(3, 1), provides="gpu=ids:1+2")
    listed = cli("worker", "list").out
    assert "PROVIDES" in listed
    assert "web=3,bulk=1" in listed
    assert "gpu=ids:1+2" in listed
    (told,) = cli("worker", "list", "--json").json()
    assert (told["queues"], told["weights"]) == (["web", "bulk"], [3, 1])
    assert told["provides"] == {"gpu": ["1", "2"]}


def test_without_resources_the_list_says_nothing_of_them(cli: Cli, queue: Queue) -> None:
    known(queue, queues=("web", "bulk"))
    assert "PROVIDES" not in cli("worker", "list").out
    (told,) = cli("worker", "list", "--json").json()
    assert (told["queues"], told["weights"], told["provides"]) == (["web", "bulk"], None, None)


def test_a_weighted_worker_serves_its_queues(cli: Cli, queue: Queue) -> None:
    known(queue, queues=("web", "bulk"), weights=(3, 1))
    assert "no worker" not in cli("enqueue", "--queue", "web", "true").err
    assert "no worker is running for queue other" in cli("enqueue", "--queue", "other", "true").err


def test_pieces_that_a_living_worker_has_are_refused(cli: Cli, queue: Queue) -> None:
    worker = known(queue, provides="gpu=2")
    result = cli("worker", "start", "--provides", "gpu=1")
    assert result.code == 4
    assert f"gpu 0 belongs to worker {worker.id} already" in result.err
    assert "gpu=ids:A+B" in result.err

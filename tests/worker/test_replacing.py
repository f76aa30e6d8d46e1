"""`worker restart` and the supervisors of those it replaces: whose workers are whose, how many are wanted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from queuectl import replacing, system
from queuectl.config.settings import Settings
from queuectl.fleet import wanted_workers
from queuectl.paths import make_private_dir
from queuectl.queue import Queue
from queuectl.worker.supervisor import Card, supervisors
from tests.support.engines import SERVERS, Place, fresh_store
from tests.support.jobs import register, stored_worker


@pytest.fixture
def card(tmp_path: Path) -> Iterator[Card]:
    """Of this process, as if it were a supervisor."""
    card = Card(make_private_dir(str(tmp_path / "state" / "run")), ["queuectl"])
    yield card
    card.remove()


@pytest.fixture(autouse=True)
def private(tmp_path: Path) -> None:
    make_private_dir(str(tmp_path / "state"))


def test_a_card_is_never_cut_off_to_be_written_anew(card: Card, tmp_path: Path) -> None:
    """Who looked at that moment would take the supervisor for gone."""
    run_dir, sizes = str(tmp_path / "state" / "run"), []
    for wanted, crashes in ((1_000, 1_000), (1, 0), (10, 10)):
        card.write(wanted, crashes)
        sizes.append(os.stat(card.path).st_size)
        ((_, seen),) = supervisors(run_dir)
        assert (seen["wanted"], seen["crashes"]) == (wanted, crashes)
    assert len(set(sizes)) == 1


@pytest.mark.parametrize("engine", SERVERS)
def test_a_new_worker_of_another_machine_is_not_taken_for_one_to_be_stopped(
    engine: str, card: Card, tmp_path: Path
) -> None:
    """In containers most supervisors have the same number."""
    pid, here = os.getpid(), system.hostname()
    with fresh_store(engine) as url, Queue(Place(str(tmp_path / "state"), url).open(), Settings()) as queue:
        card.write(1, 0)
        assert wanted_workers(queue) == {pid: 1}
        old = register(queue.store, "old", supervisor=pid, host=here)
        replacement = replacing.Replacement(queue, successor_within=0.1)
        queue.store.forget(old.id)  # it ends by itself, and its supervisor does not know yet
        register(queue.store, "elsewhere", supervisor=pid, host="elsewhere")
        replacement.stop(old)
        assert stored_worker(queue.store, "elsewhere").control is None

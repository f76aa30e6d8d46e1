"""`cleanup --keep`, a number without a unit, and what `logs` says of output that was cleaned away."""

from __future__ import annotations

import pytest
from tests.support.cli import Cli, Terminal
from tests.support.fake_worker import FakeWorker

from queuectl.config.settings import Settings
from queuectl.core.chunks import STDOUT, pack
from queuectl.queue import Queue
from queuectl.testing import wait_until
from queuectl.upkeep.trimmer import Trimmer


def test_cleanup_keeps_the_newest_of_each_queue(cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
    for number in range(4):
        queue.enqueue("true", id=f"a{number}", queue="mail" if number == 3 else "default")
        fake_worker.complete(f"a{number}")
    assert cli("cleanup", "--keep", "1", "--dry-run", "--json").json()["would_delete"] == 2
    assert cli("cleanup", "--keep", "1", "--older-than", "1h").code == 0
    assert len(queue.list()) == 4
    assert cli("cleanup", "--keep", "1").code == 0
    assert [job.id for job in queue.list()] == ["a2", "a3"]
    assert cli("cleanup", "--keep", "-1").code == 2


def test_logs_says_that_the_output_was_cleaned_away(cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
    queue.enqueue("echo hello", id="a")
    fake_worker.complete("a", pack(STDOUT, 0, b"hello\n"))
    assert cli("logs", "a").out == "hello\n"
    Trimmer(lambda: fake_worker.worker.id)(queue.store, Settings({"keep-output": "1"}), queue.clock.now())
    result = cli("logs", "a")
    assert (result.code, result.out) == (0, "")
    assert result.err == "the output of attempt 1 of job a (15 bytes) was cleaned away (keep-output)\n"
    assert cli("logs", "a", "--json").code == 0


@pytest.mark.parametrize("key", ["keep-completed-count", "keep-cancelled-count", "keep-dead-count"])
def test_numbers_to_keep_are_settings(cli: Cli, key: str) -> None:
    assert cli("config", "get", key).out == "none\n"
    assert cli("config", "set", key, "1000").code == 0
    assert cli("config", "get", key).out == "1000\n"
    assert cli("config", "set", key, "-1").code == 2
    assert cli("config", "set", key, "many").code == 2


def test_the_size_to_keep_is_a_setting(cli: Cli) -> None:
    assert cli("config", "set", "keep-output", "10g").code == 0
    assert cli("config", "get", "keep-output").out == f"{10 * 2**30}\n"
    assert cli("config", "set", "keep-output", "off").code == 0
    assert cli("config", "get", "keep-output").out == "none\n"
    assert cli("config", "set", "keep-output", "much").code == 2


def test_a_number_alone_is_asked_about_where_somebody_can_answer(
    cli: Cli, terminal: Terminal, queue: Queue, fake_worker: FakeWorker
) -> None:
    queue.enqueue("true", id="old")
    fake_worker.complete("old")
    wait_until(lambda: "would delete 1 job" in cli("cleanup", "--older-than", "1", "--dry-run").out)
    asked = terminal("cleanup", "--older-than", "1", keys="n\n")
    assert asked.code == 1
    assert "--older-than 1 is 1s; days are 1d. Delete 1 job? [y/N]" in asked.out
    assert queue.get("old").state == "completed"
    assert "[y/N]" not in terminal("cleanup", "--older-than", "9000").out  # there is none to delete
    assert "✓ 1 job deleted" in terminal("cleanup", "--older-than", "1s").out


def test_days_that_were_set_as_seconds_are_asked_about(cli: Cli, terminal: Terminal, queue: Queue) -> None:
    asked = terminal("config", "set", "keep-dead", "30", keys="n\n")
    assert asked.code == 1
    assert "keep-dead = 30 is 30 seconds; days are 30d. Delete jobs that soon? [y/N]" in asked.out
    assert cli("config", "get", "keep-dead").out == "none\n"
    assert terminal("config", "set", "keep-dead", "30", keys="y\n").code == 0
    assert "[y/N]" not in terminal("config", "set", "keep-dead", "30s").out
    scripted = cli("config", "set", "keep-completed", "30")
    assert (scripted.code, scripted.out) == (0, "✓ keep-completed = 30\n")
    assert scripted.err == "note: keep-completed = 30 is that many seconds; days are 30d\n"
    assert cli("config", "set", "keep-completed", "0").err == ""

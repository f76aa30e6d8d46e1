"""How people drive tools of this kind: other spellings, other names, other places. All of them work."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.cli import Cli

from queuectl import __version__
from queuectl.cli.main import ALIASES
from queuectl.config.settings import KEYS
from queuectl.queue import Queue

# --- enqueue ------------------------------------------------------------------------------------------


def test_the_version_as_json(cli: Cli) -> None:
    for words in (("version", "--json"), ("--version", "--json")):
        assert cli(*words).json() == {"version": __version__}


@pytest.mark.parametrize("name", ["enqueue", "add", "submit"])
def test_names_of_enqueue(cli: Cli, name: str) -> None:
    assert cli(name, "--quiet", "--id", "job1", "echo hi").out == "job1\n"


@pytest.mark.parametrize("option", ["--command", "-c", "--cmd"])
def test_names_of_command(cli: Cli, queue: Queue, option: str) -> None:
    assert cli("enqueue", "--id", "job1", option, "echo hi").code == 0
    assert queue.get("job1").command == "echo hi"


@pytest.mark.parametrize("option", ["--max-retries", "--max_retries", "--retries", "-r"])
def test_names_of_max_retries(cli: Cli, queue: Queue, option: str) -> None:
    assert cli("enqueue", "--id", "job1", option, "7", "echo hi").code == 0
    assert queue.get("job1").max_retries == 7


@pytest.mark.parametrize("option", ["--max-attempts", "--max_attempts", "--max-tries", "--max_tries"])
def test_attempts_count_the_first_run_too(cli: Cli, queue: Queue, option: str) -> None:
    assert cli("enqueue", "--id", "job1", option, "7", "echo hi").code == 0
    assert queue.get("job1").max_retries == 6


def test_underscores_in_any_option(cli: Cli, queue: Queue) -> None:
    words = ("--backoff_base=3", "--backoff_strategy", "fixed", "--retry_delay", "9s", "--if_exists=skip")

    assert cli("enqueue", "--id", "job1", *words, "echo hi").code == 0
    assert cli("cleanup", "--older_than", "7d", "--dry_run").code == 0

    job = queue.get("job1")
    assert (job.backoff_base, job.backoff_strategy, job.retry_delay) == (3.0, "fixed", 9_000)


def test_a_time_in_local_time(cli: Cli, queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        result = cli("enqueue", "--id", "job1", "--run-at", "2999-12-01T09:00:00", "echo hi")
    finally:
        monkeypatch.delenv("TZ")
        time.tzset()

    assert "2999-12-01 09:00 JST" in result.err
    assert queue.get("job1").to_dict()["run_at"] == "2999-12-01T00:00:00.000Z"


# --- ways to start it ---------------------------------------------------------------------------------


@pytest.mark.process
@pytest.mark.parametrize("module", ["queuectl", "queuectl.cli", "queuectl.cli.main"])
def test_as_a_module(module: str, home_dir: Path) -> None:
    command = [sys.executable, "-m", module, "enqueue", "--quiet", "--id", "job1", "true"]

    done = subprocess.run(command, capture_output=True, check=False, timeout=60)

    assert (done.returncode, done.stdout) == (0, b"job1\n")


# --- looking ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [("list",), ("ls",)])
@pytest.mark.parametrize("option", ["--state", "--status", "-s"])
@pytest.mark.parametrize(
    ("state", "id"),
    [("DEAD", "broken"), ("Cancelled", "stopped"), ("canceled", "stopped"), (" failed ", "flaky")],
)
def test_states_in_any_case(
    cli: Cli, jobs_in_every_state: None, words: tuple[str, ...], option: str, state: str, id: str
) -> None:
    assert cli(*words, option, state, "--quiet").out == f"{id}\n"


def test_pages_by_limit_and_offset(cli: Cli, jobs_in_every_state: None) -> None:
    everything = cli("list", "--quiet").out.split()

    assert cli("list", "--quiet", "--limit", "2", "--offset", "1").out.split() == everything[1:3]


@pytest.mark.parametrize("name", ["show", "info", "get"])
def test_names_of_show(cli: Cli, jobs_in_every_state: None, name: str) -> None:
    assert cli(name, "done", "--json").json()["state"] == "completed"


@pytest.mark.parametrize("name", ["rm", "remove", "delete"])
def test_names_of_rm(cli: Cli, jobs_in_every_state: None, name: str) -> None:
    assert cli(name, "done", "--json").json()["id"] == "done"


@pytest.mark.parametrize("name", ALIASES)
def test_every_other_name_leads_to_its_command(cli: Cli, name: str) -> None:
    result = cli(name, "--help")

    assert result.code == 0
    assert result.out.startswith(f"usage: queuectl {ALIASES[name]}")


# --- the dead letter queue ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["purge", "clear", "delete"])
def test_names_of_purge(cli: Cli, jobs_in_every_state: None, queue: Queue, name: str) -> None:
    assert cli("dlq", name).code == 0
    assert queue.stats().counts["dead"] == 0
    assert cli("dlq", name).code == 0  # nothing there is no failure


def test_the_dead_letter_queue_in_a_table(cli: Cli, jobs_in_every_state: None) -> None:
    expected = [
        "ID      STATE  ATTEMPTS  LAST ERROR                  COMMAND",
        "broken  dead   1/1       exit code 1: no such file  echo broken",
    ]

    for words in (("dlq",), ("dlq", "list"), ("dlq", "ls")):
        assert [line.split() for line in cli(*words).out.splitlines()] == [line.split() for line in expected]


# --- settings -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [(), ("show",), ("list",), ("get",), ("ls",)])
def test_all_settings(cli: Cli, words: tuple[str, ...]) -> None:
    lines = cli("config", *words).out.splitlines()

    assert [line.split()[0] for line in lines] == ["KEY", *KEYS]


@pytest.mark.parametrize("name", ["max-retries", "max_retries", "MAX_RETRIES"])
def test_settings_in_either_spelling(cli: Cli, name: str) -> None:
    assert cli("config", "set", name, "5").code == 0
    assert cli("config", "get", name).out == "5\n"


@pytest.mark.parametrize("name", ["max-attempts", "default-max-tries", "default_max_tries"])
def test_settings_that_count_attempts(cli: Cli, name: str) -> None:
    assert cli("config", "set", name, "5").code == 0
    assert cli("config", "get", name).out == "5\n"
    assert cli("config", "get", "max-retries").out == "4\n"


def test_config_reset(cli: Cli) -> None:
    cli("config", "set", "max-retries", "5")

    assert cli("config", "reset").code == 0

    assert cli("config", "get", "max-retries").out == "3\n"


@pytest.mark.parametrize(
    ("key", "typed"),
    [("backoff-base", "3"), ("backoff-base", "1.5"), ("job-retry-delay", "7"), ("job-timeout", "30")],
)
def test_settings_print_as_they_were_typed(cli: Cli, key: str, typed: str) -> None:
    cli("config", "set", key, typed)

    assert cli("config", "get", key).out == f"{typed}\n"

"""Jobs that a real worker runs from a store on a server, as the command line sees them."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from queuectl.queue import Queue
from queuectl.testing import wait_until
from tests.smoke.conftest import Cli
from tests.support.home import Home
from tests.support.terminal import Program


@pytest.fixture(scope="module", autouse=True)
def worker(home: Home) -> Iterator[int]:
    """One worker process for the whole module."""
    home.configure(**{"kill-grace": "300ms", "backoff-base": "0.001"})
    process = home.foreground("--concurrency", "4")
    wait_until(lambda: bool(home.workers()), what="the worker to be ready")
    yield process.pid
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0


def shown(cli: Cli, id: str) -> dict[str, Any]:
    document: dict[str, Any] = cli("show", "--json", id).json()
    return document


def outcomes(cli: Cli, id: str) -> list[str]:
    return [attempt["outcome"] for attempt in shown(cli, id)["history"]]


def test_a_job_runs_and_its_output_and_exit_code_are_kept(cli: Cli, worker: int) -> None:
    assert cli("enqueue", "--id", "a1", "echo ä€😀; echo err >&2").code == 0
    assert cli("wait", "a1", "--timeout", "30s").code == 0
    job = shown(cli, "a1")
    assert (job["state"], job["exit_code"], job["attempts"]) == ("completed", 0, 1)
    assert job["history"][0]["worker_id"] == cli("worker", "list", "--json").json()[0]["id"]
    logs = cli("logs", "--json", "a1").json()
    assert (logs["stdout"], logs["stderr"]) == ("ä€😀\n", "err\n")


def test_a_job_that_fails_is_tried_again_until_it_succeeds(cli: Cli) -> None:
    command = "echo x >> tries; test $(wc -l < tries) -ge 3"
    assert cli("enqueue", "--id", "again", "--max-retries", "5", command).code == 0
    assert cli("wait", "again", "--timeout", "30s").code == 0
    assert outcomes(cli, "again") == ["failed", "failed", "succeeded"]


def test_a_job_whose_retries_are_used_up_is_dead_until_it_is_retried(cli: Cli) -> None:
    assert cli("enqueue", "--id", "dies", "--max-retries", "1", "test -e cure || exit 7").code == 0
    assert cli("wait", "dies", "--timeout", "30s").code == 1
    assert (shown(cli, "dies")["state"], shown(cli, "dies")["exit_code"]) == ("dead", 7)
    assert outcomes(cli, "dies") == ["failed", "failed"]
    Path("cure").touch()
    assert cli("dlq", "retry", "dies").code == 0
    assert cli("wait", "dies", "--timeout", "30s").code == 0


def test_a_job_that_takes_too_long_is_ended(cli: Cli) -> None:
    assert cli("run", "--id", "late", "--timeout", "100ms", "sleep 60").code == 124
    assert outcomes(cli, "late") == ["timeout"]


def test_a_running_job_is_cancelled_with_all_its_processes(cli: Cli) -> None:
    assert cli("enqueue", "--id", "long", "sleep 60 & echo $! > child; wait").code == 0
    child = Path("child")
    wait_until(lambda: child.exists() and child.read_text().endswith("\n"), what="the command to run")
    assert cli("cancel", "long").code == 0
    assert shown(cli, "long")["state"] == "cancelled"
    wait_until(lambda: not os.path.exists(f"/proc/{int(child.read_text())}"), what="its child to end")


def test_run_prints_what_the_command_prints_and_exits_as_it_did(cli: Cli) -> None:
    result = cli("run", "--id", "ran", "echo out; echo err >&2; exit 3")
    assert (result.code, result.out) == (3, "out\n")
    assert result.err.startswith("err\n")
    assert shown(cli, "ran")["state"] == "dead"


def test_ctrl_c_of_run_cancels_its_job(home: Home, queue: Queue) -> None:
    with home.popen("run", "--id", "interrupted", "echo begun; sleep 60") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert process.returncode == 130
    home.wait_for("interrupted", "cancelled")


def test_map_runs_one_job_for_each_input(cli: Cli) -> None:
    done = cli("map", "--json", "--wait", "--name", "inputs", "--", "test", "{}", "=", "a", ":::", "a", "b")
    assert done.code == 1
    assert cli("list", "--json", "--tag", "map:inputs", "--state", "completed").json()[0]["exit_code"] == 0
    results = cli("wait", "--tag", "map:inputs", "--format", "{state}").out.split()
    assert sorted(results) == ["completed", "dead"]


def test_no_more_jobs_of_a_queue_run_at_once_than_its_limit(cli: Cli) -> None:
    assert cli("queue", "set", "single", "--concurrency", "1").code == 0
    words = ("map", "--wait", "--queue", "single", "mkdir single && touch {} && rmdir single")
    assert cli(*words, ":::", *"abcdef").code == 0


def test_a_rate_lets_one_job_run_and_the_others_wait(cli: Cli, queue: Queue) -> None:
    assert cli("queue", "set", "slowly", "--rate", "1/h").code == 0
    ids = [queue.enqueue("true", queue="slowly").id for _ in range(3)]
    assert cli("wait", ids[0], "--timeout", "30s").code == 0
    assert [queue.get(id).state for id in ids[1:]] == ["pending", "pending"]
    assert cli("cancel", "--queue", "slowly", "--state", "pending", "--yes").code == 0


def test_jobs_run_after_those_that_they_wait_for(cli: Cli) -> None:
    assert cli("enqueue", "--id", "third", "--hold", "echo 3 >> order").code == 0
    assert cli("edit", "third", "--priority", "5").code == 0
    assert cli("enqueue", "--id", "fourth", "--after", "third", "echo 4 >> order").code == 0
    assert cli("enqueue", "--id", "fails", "--max-retries", "0", "false").code == 0
    assert cli("enqueue", "--id", "never", "--after", "fails", "echo never >> order").code == 0
    assert cli("enqueue", "--id", "remedy", "--after-fail", "fails", "echo 2 >> order").code == 0
    assert cli("wait", "remedy", "--timeout", "30s").code == 0
    assert cli("release", "third").code == 0
    assert cli("wait", "third", "fourth", "--timeout", "30s").code == 0
    assert Path("order").read_text().split() == ["2", "3", "4"]
    assert shown(cli, "never")["state"] == "cancelled"


def test_a_schedule_fires(cli: Cli, queue: Queue) -> None:
    assert cli("schedule", "add", "often", "@every 1s", "--queue", "often", "true").code == 0
    wait_until(
        lambda: len(cli("list", "--json", "--queue", "often", "--state", "completed").json()) >= 1,
        what="a job of the schedule to run",
    )
    assert cli("schedule", "rm", "often").code == 0


def test_long_output_is_kept_in_a_file_and_printed_whole(cli: Cli) -> None:
    assert cli("run", "--id", "chatty", "seq 1 50000").code == 0
    assert cli("logs", "chatty").out == "".join(f"{number}\n" for number in range(1, 50_001))


def test_an_agent_runs_a_job_and_reads_it(home: Home) -> None:
    async def talk() -> None:
        words = ["-P", "-m", "queuectl", "mcp"]
        server = StdioServerParameters(command=sys.executable, args=words, env=home.env, cwd=home.work)
        with anyio.fail_after(60):
            async with Client(stdio_client(server)) as client:
                ran = (await client.call_tool("run", {"command": "echo hello"})).structured_content
                assert (ran["state"], ran["output"], ran["run_by"]) == ("completed", "hello\n", "worker")
                shown = (await client.call_tool("show", {"id": ran["id"]})).structured_content
                assert shown["job"]["exit_code"] == 0

    anyio.run(talk)


def test_top_shows_the_jobs_and_ends_with_0(home: Home, queue: Queue) -> None:
    queue.enqueue("true", id="seen-in-top", queue="paused-for-top", delay="1h")
    top = Program(home.env, home.work)
    try:
        top.see("seen-in-top", "1 worker, 4 slots")
        top.type("q")
        assert top.end() == 0
    finally:
        top.close()

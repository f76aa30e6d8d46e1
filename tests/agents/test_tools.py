"""The tools of `queuectl mcp`, called by the SDK's client. How the process behaves: test_process.py."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.agents.client import (
    LONGEST_TEST_S,
    McpClient,
    Play,
    Scenario,
    appearance,
    play_in_process,
    play_over_stdio,
)
from tests.support.home import Home

from queuectl.agents.desk import Desk
from queuectl.agents.runs import Runs
from queuectl.cli.output import clean_lines
from queuectl.testing import wait_until

LOOKING = {"list", "show", "logs", "explain", "wait", "status"}
CHANGING = {"run", "enqueue", "cancel", "retry"}


@pytest.fixture
def in_process(home: Home, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Play:
    """`in_process(scenario, read_only=True)`: the server is an object here, only its jobs are processes.

    Nothing may be logged: in the real process it would be on stderr.
    """
    monkeypatch.setenv("QUEUECTL_HOME", str(home.path))
    monkeypatch.chdir(home.work)

    def play(scenario: Scenario, *, read_only: bool = False) -> None:
        if not read_only:
            home.queue().close()  # as the command does: there is a store before the first call
        runs = Runs(end_within_s=LONGEST_TEST_S)
        try:
            anyio.run(play_in_process, Desk(home.address, runs, clean_lines, read_only=read_only), scenario)
        finally:
            runs.close()
        assert [record.getMessage() for record in caplog.records if record.name.startswith("queuectl")] == []

    return play


@pytest.fixture
def over_stdio(home: Home, tmp_path: Path) -> Play:
    """Start `queuectl mcp`, play a scenario, close its stdin; nothing may be on its stderr."""

    def play(scenario: Scenario, *words: str, mode: str = "auto") -> None:
        anyio.run(play_over_stdio, home, tmp_path / "stderr", scenario, words, mode)

    return play


@pytest.mark.parametrize("mode", [pytest.param("legacy", marks=pytest.mark.long), "auto"])
def test_an_agent_is_told_what_there_is(over_stdio: Play, mode: str) -> None:
    async def scenario(client: McpClient) -> None:
        tools = {tool.name: tool for tool in (await client.client.list_tools()).tools}
        assert set(tools) == LOOKING | CHANGING
        looking = {name for name, tool in tools.items() if tool.annotations.read_only_hint}
        assert looking == LOOKING
        for name in ("run", "logs"):
            assert "untrusted" in tools[name].description
        assert "untrusted" in (client.client.instructions or "")
        assert all(tool.input_schema["type"] == "object" and tool.output_schema for tool in tools.values())

    over_stdio(scenario, mode=mode)


def test_run_without_a_worker_does_it_by_itself_and_says_so(in_process: Play, home: Home) -> None:
    async def scenario(client: McpClient) -> None:
        good = await client.call("run", command="echo out; echo err >&2; pwd")
        assert (good["state"], good["ended"], good["exit_code"]) == ("completed", True, 0)
        assert sorted(good["output"].splitlines()) == sorted(["out", "err", str(home.work)])
        assert good["run_by"] == "this server"
        assert "no worker serves the queue" in good["notes"][0]
        bad = await client.call("run", argv=["sh", "-c", "exit 3"])
        assert (bad["state"], bad["exit_code"], bad["error"]) == ("dead", 3, "exit code 3")
        assert (await client.call("show", id=bad["id"]))["job"]["attempts"] == 1

    in_process(scenario)
    assert os.listdir(home.location.run_dir) == []


def test_run_with_a_worker_leaves_it_to_that(in_process: Play, home: Home) -> None:
    home.ok("init")
    home.supervise()
    wait_until(lambda: bool(home.workers()), what="a worker")

    async def scenario(client: McpClient) -> None:
        found = await client.call("run", command="echo hello")
        assert (found["state"], found["output"], found["run_by"]) == ("completed", "hello\n", "worker")
        assert found["notes"] == []
        assert "untrusted text" in await client.text("run", command="echo hello")

    in_process(scenario)


def test_a_run_that_takes_too_long_gives_its_id_and_goes_on(in_process: Play, home: Home) -> None:
    async def scenario(client: McpClient) -> None:
        command = "echo begun; until test -e go; do sleep 0.05; done; echo ended"
        first = await client.call("run", id="long", command=command, wait_seconds=0)
        assert (first["id"], first["ended"]) == ("long", False)
        assert "exit_code" not in first
        await client.until("logs", lambda found: found["output"] == "begun\n", id="long")
        assert (await client.call("wait", ids=["long"], wait_seconds=0))["all_ended"] is False
        (home.work / "go").touch()
        waited = await client.call("wait", ids=["long"])
        assert (waited["all_ended"], waited["all_completed"]) == (True, True)
        assert (await client.call("logs", id="long"))["output"] == "begun\nended\n"

    in_process(scenario)


def test_a_run_whose_own_process_dies_says_so_at_once(in_process: Play, home: Home) -> None:
    async def scenario(client: McpClient) -> None:
        found = await client.call("run", command="kill -9 $PPID; sleep 60", wait_seconds=3_600)
        assert (found["ended"], found["state"]) == (False, "processing")
        assert "the process that ran it is gone" in found["notes"][-1]

    in_process(scenario)


def test_two_calls_at_a_time_and_cancel_during_run(in_process: Play, home: Home) -> None:
    async def scenario(client: McpClient) -> None:
        results: dict[str, dict[str, Any]] = {}

        async def run(id: str, command: str) -> None:
            results[id] = await client.call("run", id=id, command=command)

        async with anyio.create_task_group() as group:
            group.start_soon(run, "one", "until test -e two; do sleep 0.05; done; touch one; sleep 60")
            group.start_soon(run, "two", "touch two; until test -e one; do sleep 0.05; done")
            await appearance(home.work / "one")
            assert (await client.call("cancel", id="one"))["job"]["state"] == "cancelled"
        assert (results["one"]["state"], results["one"]["exit_code"]) == ("cancelled", 130)
        assert (results["two"]["state"], results["two"]["exit_code"]) == ("completed", 0)

    in_process(scenario)


def test_a_call_that_is_taken_back_leaves_its_job_alone(in_process: Play, home: Home) -> None:
    """A client takes a call back when its own time is up; that is no reason to kill a build."""

    async def scenario(client: McpClient) -> None:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                command = "touch begun; until test -e go; do sleep 0.05; done"
                group.start_soon(lambda: client.call("run", id="build", command=command))
                await appearance(home.work / "begun")
                scope.cancel()
        (home.work / "go").touch()
        assert (await client.call("wait", ids=["build"]))["all_completed"] is True

    in_process(scenario)


def test_enqueue_list_show_explain_cancel_retry_status(in_process: Play, home: Home) -> None:
    async def scenario(client: McpClient) -> None:
        made = await client.call(
            "enqueue", command="deploy", id="d", tags=["ci"], env={"TOKEN": "secret"}, needs="gpu=1"
        )
        assert (made["job"]["state"], made["job"]["env"]) == ("pending", {"TOKEN": "***"})
        assert "queuectl worker start" in made["notes"][0]
        again = await client.call("enqueue", command="other", id="d", if_exists="skip")
        assert "another command" in again["notes"][0]
        await client.call("enqueue", argv=["true"], id="later", delay="1h")
        listed = await client.call("list", limit=1)
        assert ([job["id"] for job in listed["jobs"]], listed["more"]) == (["later"], True)
        assert [job["id"] for job in (await client.call("list", tag="ci"))["jobs"]] == ["d"]
        shown = (await client.call("show", id="d"))["job"]
        assert (shown["command"], shown["cwd"], "secret" in str(shown)) == ("deploy", str(home.work), False)
        assert "worker" in (await client.call("explain", id="d"))["verdict"]
        assert (await client.call("cancel", id="d"))["job"]["state"] == "cancelled"
        assert (await client.call("retry", id="d"))["job"]["state"] == "pending"
        status = await client.call("status")
        assert (status["jobs"]["pending"], status["jobs"]["scheduled"], status["workers"]) == (1, 1, 0)

    in_process(scenario)


def test_what_cannot_be_is_a_tool_error_with_message_and_hint(in_process: Play, home: Home) -> None:
    async def scenario(client: McpClient) -> None:
        for name, arguments, message, hint in (
            ("run", {}, "the command is missing", "argv"),
            ("run", {"comand": "true"}, "unknown argument 'comand'", "'command'"),
            ("run", {"command": 7}, "command must be a string, not a number", "shell line"),
            ("run", {"command": "true", "wait_seconds": 10**6}, "wait_seconds is out of range", "3,600"),
            ("enqueue", {"command": "true", "timeout": "soon"}, "timeout 'soon'", "10m"),
            ("enqueue", {"command": "true", "if_exists": "replace"}, "if_exists cannot be", "fail, skip"),
            ("show", {}, "the argument 'id' is missing", "the id of a job"),
            ("show", {"id": "none"}, "there is no job 'none'", "list"),
            ("wait", {"ids": "a"}, "ids must be an array, not text", "the jobs"),
            ("list", {"state": "lost"}, "unknown state 'lost'", "pending"),
            ("stats", {}, "there is no tool 'stats'", "status"),
        ):
            error = await client.refused(name, **arguments)
            assert message in error["message"], error
            assert hint in error["hint"], error
        assert (await client.call("list"))["jobs"] == []

    in_process(scenario)


def test_read_only_offers_only_what_looks(in_process: Play, home: Home) -> None:
    home.ok("enqueue", "--id", "a", "true")

    async def scenario(client: McpClient) -> None:
        assert await client.names() == LOOKING
        for name, arguments in (
            ("run", {"command": "touch x"}),
            ("enqueue", {"command": "x"}),
            ("cancel", {"id": "a"}),
            ("retry", {"id": "a"}),
        ):
            assert (await client.refused(name, **arguments))["code"] == "refused"
        assert [job["id"] for job in (await client.call("list"))["jobs"]] == ["a"]

    in_process(scenario, read_only=True)
    assert home.state("a") == "pending"


def test_who_may_only_look_makes_no_store_and_need_not_wait_for_one(in_process: Play, home: Home) -> None:
    async def scenario(client: McpClient) -> None:
        assert (await client.refused("list"))["code"] == "store"
        assert not (home.path / "queue.db").exists()
        home.ok("enqueue", "--id", "a", "true")
        assert len((await client.call("list"))["jobs"]) == 1

    in_process(scenario, read_only=True)


def test_output_is_bounded_and_plain(in_process: Play, home: Home) -> None:
    async def scenario(client: McpClient) -> None:
        printed = r"printf '\033[31mred\033[0m 10%%\r100%%\007\n\033]0;title\007x\342\200\256y\n'"
        found = await client.call("run", command=printed)
        assert found["output"] == "100%\\x07\nx\\u202ey\n"
        long = await client.call("run", command="yes 123456789 | head -n 100000; echo end", output_bytes=50)
        assert (len(long["output"]), long["truncated"]) == (50, True)
        assert long["output"].endswith("123456789\nend\n")
        shown = await client.call("enqueue", command="true " + "x" * 50_000)
        assert len(shown["job"]["command"]) < 5_000

    in_process(scenario)


def test_what_it_runs_by_itself_ends_with_it(over_stdio: Play, home: Home) -> None:
    async def scenario(client: McpClient) -> None:
        await client.call("run", id="endless", command="touch begun; sleep 600", wait_seconds=0)
        await appearance(home.work / "begun")

    over_stdio(scenario)
    home.wait_for("endless", "cancelled")
    wait_until(lambda: home.pids() == [], what="its processes to end")
    with home.queue() as queue:
        assert queue.store.workers() == []

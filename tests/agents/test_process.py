"""`queuectl mcp` as a process: what it writes, how it ends, what it needs."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.support.home import Home

from queuectl.agents import runs
from queuectl.agents.desk import Desk, Patience
from queuectl.agents.tools import TOOLS
from queuectl.cli.commands.mcp import build_parser
from queuectl.cli.output import clean_lines
from queuectl.errors import Refused
from queuectl.testing import wait_until

PAGE = Path(__file__).resolve().parents[2] / "docs" / "agents.md"
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "0"},
}


def start(home: Home, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "queuectl", "mcp", *words],
        env=home.env,
        cwd=home.work,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        bufsize=1,
    )


def ask(process: subprocess.Popen[str], id: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}) + "\n")
    while True:
        answer: dict[str, Any] = json.loads(process.stdout.readline())  # whatever is no JSON is a failure
        assert answer["jsonrpc"] == "2.0"
        if answer.get("id") == id:
            return answer


def test_stdout_is_the_protocol_and_nothing_else_also_after_rubbish(home: Home) -> None:
    process = start(home)
    assert process.stdin is not None
    process.stdin.write("this is no message\n{}\n")
    assert ask(process, 1, "initialize", HELLO)["result"]["serverInfo"]["name"] == "queuectl"
    process.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    call = {"name": "run", "arguments": {"command": "echo hello"}}
    assert ask(process, 2, "tools/call", call)["result"]["structuredContent"]["output"] == "hello\n"
    out, errors = process.communicate(timeout=30)
    assert (process.returncode, "Traceback" in errors) == (0, False)
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in out.splitlines())


def test_sigterm_ends_it_and_what_it_runs(home: Home) -> None:
    process = start(home)
    ask(process, 1, "initialize", HELLO)
    call = {
        "name": "run",
        "arguments": {"id": "long", "command": "touch begun; sleep 600", "wait_seconds": 0},
    }
    assert ask(process, 2, "tools/call", call)["result"]["structuredContent"]["ended"] is False
    wait_until((home.work / "begun").exists, what="the job to run")
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=20) == 0
    home.wait_for("long", "cancelled")
    wait_until(lambda: home.pids() == [], what="its processes to end")
    process.communicate()


def test_a_store_that_cannot_be_used_is_told_at_once(home: Home) -> None:
    result = home.q("mcp", "--db", "/dev/null/queue.db")
    assert (result.returncode, result.stdout) == (3, "")
    assert result.stderr.startswith("error: ")
    assert "hint: " in result.stderr


def test_the_package_that_it_needs_is_named_with_the_command(home: Home) -> None:
    (home.work / "mcp.py").write_text("raise ModuleNotFoundError(\"No module named 'mcp'\", name='mcp')\n")
    result = home.q("mcp", env={"PYTHONPATH": str(home.work)})
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == "error: mcp needs the package mcp\n  hint: pip install 'queuectl[mcp]'\n"


def test_it_runs_only_so_many_jobs_at_a_time_by_itself(home: Home) -> None:
    processes = runs.Runs()
    desk = Desk(home.address, processes, clean_lines)
    assert all(processes.reserve() for _ in range(runs.MOST))
    with pytest.raises(Refused, match="8 jobs are being run here already"):
        runs.run(desk, {"command": "true", "wait_seconds": 0, "output_bytes": 10}, Patience())
    with home.queue() as queue:
        assert queue.list() == []


def test_a_job_ends_with_the_server_also_before_its_process_can_hear_of_it(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python itself has no more than begun when the signal comes."""
    monkeypatch.setenv("QUEUECTL_HOME", str(home.path))
    with home.queue() as queue:
        queue.enqueue("touch ran", id="a")
    processes = runs.Runs(end_within_s=60)
    process = processes.start(home.address, "a")
    processes.close()
    assert process.returncode is not None
    assert home.state("a") == "cancelled"


def test_the_page_for_agents_is_right() -> None:
    """What it tells to register can be started, and it knows every tool."""
    text = PAGE.read_text()
    found = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", text, re.DOTALL)]
    found += [tomllib.loads(block) for block in re.findall(r"```toml\n(.*?)```", text, re.DOTALL)]
    assert len(found) == 3
    for document in found:
        (servers,) = document.values()
        assert servers["queuectl"]["command"] == "queuectl"
        name, *words = servers["queuectl"]["args"]
        assert name == "mcp"
        build_parser().parse_args(words)
    for name, tool in TOOLS.items():
        (row,) = [line for line in text.splitlines() if line.startswith("| `") and f"`{name}`" in line]
        assert row.endswith("| yes |") != tool.changes

"""`run --json` for agents that have a shell, and runs beside each other."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.support.home import Home

from queuectl.testing import wait_until


def test_json_has_both_streams_apart_and_together(home: Home) -> None:
    result = home.q("run", "--json", "echo one; sleep 0.2; echo two >&2; exit 3")
    document = json.loads(result.stdout)
    assert (result.returncode, document["run_exit_code"], document["exit_code"]) == (3, 3, 3)
    assert (document["stdout"], document["stderr"]) == ("one\n", "two\n")
    assert (document["combined"], document["truncated"]) == ("one\ntwo\n", False)


def test_json_says_so_if_time_is_up(home: Home) -> None:
    result = home.q("run", "--json", "--timeout", "10ms", "sleep 60")
    document = json.loads(result.stdout)
    assert (result.returncode, document["run_exit_code"], document["exit_code"]) == (124, 124, None)


def test_json_says_so_if_output_is_missing(home: Home) -> None:
    home.ok("config", "set", "output-max", "64K")
    document = json.loads(home.ok("run", "--json", "yes 0123456 | head -c 1000000; echo the end"))
    assert document["truncated"]
    assert document["stdout"].endswith("0123456\nthe end\n")
    assert len(document["stdout"]) < 1_000_000


def test_two_at_a_time_do_not_wait_for_each_other(home: Home) -> None:
    """A `run` that works for its own job is no worker for others."""
    home.ok("init")
    first = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "queuectl",
            "run",
            "--id",
            "first",
            "touch begun; until test -e go; do sleep 0.02; done",
        ],
        env=home.env,
        cwd=home.work,
    )
    wait_until((home.work / "begun").exists, what="the first to run")
    worker = json.loads(home.ok("worker", "list", "--json"))[0]
    assert worker["queues"] == []
    assert "its own job" in home.ok("worker", "list")
    assert home.ok("run", "--json", "touch go; echo second")
    assert first.wait(timeout=20) == 0


def test_json_errors_are_json_on_stderr(home: Home) -> None:
    home.ok("enqueue", "--id", "taken", "true")
    result = home.q("run", "--json", "--id", "taken", "true")
    assert (result.returncode, result.stdout) == (2, "")
    assert json.loads(result.stderr)["error"]["code"] == "duplicate_id"

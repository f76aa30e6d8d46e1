"""C13, C14, C15, C27, C30: what others can see of commands, environments and passwords; and root."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from queuectl.testing import wait_until
from tests.attacks.pseudo_terminal import on_a_terminal
from tests.support.home import Home

CANARY = "canary-5f2a9"


def contents(directory: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_the_environment_of_who_enqueues_is_kept_nowhere(home: Home) -> None:
    env = {"AWS_SECRET_ACCESS_KEY": CANARY, "GITHUB_TOKEN": CANARY, "PGPASSWORD": CANARY}
    home.ok("enqueue", "--id", "a", "env", env=env)
    home.ok("map", "echo {}", ":::", "1", "2", env=env)
    home.ok("schedule", "add", "s", "@daily", "--", "env", env=env)
    home.start()
    home.ok("wait", "--all", env=env)
    home.ok("worker", "stop", env=env)
    home.ok("export", "all.jsonl", env=env)
    for place in (home.path, home.work):
        assert [path for path, data in contents(place).items() if CANARY.encode() in data] == []


def test_named_values_reach_the_command_and_no_view(home: Home) -> None:
    home.ok("enqueue", "--id", "a", "--env", "SECRET", 'test "$SECRET" = ' + CANARY[:6] + "*; sleep 60",
            env={"SECRET": CANARY})  # fmt: skip
    home.start()
    home.wait_for("a", "processing", "failed")
    views = [
        ["list"],
        ["list", "--json"],
        ["show", "a"],
        ["show", "a", "--json"],
        ["explain", "a"],
        ["status"],
        ["stats"],
        ["worker", "list", "--json"],
        ["queue", "list"],
        ["metrics"],
        ["config"],
        ["doctor"],
        ["doctor", "--json"],
        ["graph"],
        ["logs", "a"],
        ["--debug", "show", "nosuch"],
    ]
    for words, (_, said) in zip(views, on_a_terminal(home, views), strict=True):
        assert CANARY.encode() not in said, words
    assert CANARY not in (home.path / "logs" / "workers.log").read_text()


def test_the_list_of_processes_shows_a_command_and_no_value(home: Home) -> None:
    """C13: the worker, its supervisor and the shell. What is in a command is seen: SECURITY.md says so."""
    home.ok(
        "enqueue", "--id", "a", "--memory", "1G", "--env", "SECRET", "sleep 60; true", env={"SECRET": CANARY}
    )
    home.start()
    home.wait_for("a", "processing")
    wait_until(lambda: any(b"sleep" in line for line in lines(home)), what="the command")
    for line in lines(home):
        assert CANARY.encode() not in line
        assert b"SECRET" not in line


def lines(home: Home) -> list[bytes]:
    found = []
    for pid in home.pids():
        try:
            found.append(Path(f"/proc/{pid}/cmdline").read_bytes())
        except OSError:
            pass  # it has ended
    return found


@pytest.mark.parametrize("scheme", ["postgresql", "mysql"])
def test_a_password_is_told_by_no_command(unchecked_home: Home, scheme: str) -> None:
    url = f"{scheme}://me:{CANARY}@127.0.0.1:1/db?connect_timeout=1"
    words = [["doctor"], ["doctor", "--json"], ["--debug", "list"]]
    commands = [["--db", url, *each] for each in words]
    for command, (code, said) in zip(commands, on_a_terminal(unchecked_home, commands), strict=True):
        assert code != 0, command
        assert CANARY.encode() not in said, (command, said)
    assert [path for path, data in contents(unchecked_home.path).items() if CANARY.encode() in data] == []


def test_no_line_of_the_log_can_be_forged(home: Home) -> None:
    forged = "2026-01-01T00:00:00.000Z worker x stopped"
    home.ok(
        "enqueue", "--id", "a", "--max-retries", "0", f"no-such-program-$(printf 'a\\n{forged}\\n'); exit 3"
    )
    home.ok("enqueue", "--id", "b", "--max-retries", "0", "--cwd", f"/nosuch\n{forged}\n\x1b[2J", "true")
    home.start()
    home.wait_for("a", "dead")
    home.wait_for("b", "dead")
    text = (home.path / "logs" / "workers.log").read_text()
    assert "moved to the dead letter queue" in text
    assert "\x1b" not in text
    for line in text.splitlines():
        assert re.match(r"\d{4}-\d\d-\d\dT[\d:.]+Z ", line), line
        assert not line.startswith(forged)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, whom it warns")
def test_root_is_warned_once(home: Home) -> None:
    (_, said), (_, as_json) = on_a_terminal(home, [["worker", "start"], ["worker", "start", "--json"]])
    assert said.count(b"run every job as root") == 1
    assert b"as root" not in as_json

"""The examples of docs/operations.md: what a container would run does run, and has the time that it needs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.blocks import ROOT
from tests.support.home import Home

from queuectl.config.settings import Settings

EXAMPLES = ROOT / "examples/container"


def command_of(name: str) -> list[str]:
    """The list of words that a container starts."""
    (found,) = re.findall(r"^(?:CMD|\s*command:) (\[.*\])$", (EXAMPLES / name).read_text(), re.MULTILINE)
    words = json.loads(found)
    assert words[0] == "queuectl"
    return [sys.executable, "-m", *words]


@pytest.mark.parametrize("name", ["Dockerfile", "compose.yaml"])
def test_the_command_of_the_container_works_and_ends_when_told(tmp_path: Path, name: str) -> None:
    home = Home(tmp_path / "home")
    try:
        home.ok("enqueue", "--id", "hello", "echo hello")
        environment = dict(
            re.findall(r"^\s+(QUEUECTL_\w+): (\S+)$", (EXAMPLES / name).read_text(), re.MULTILINE)
        )
        process = subprocess.Popen(
            command_of(name), env={**home.env, **environment}, cwd=home.work, stderr=subprocess.PIPE
        )
        home.wait_for("hello", "completed")
        process.terminate()
        _, said = process.communicate(timeout=20)
        assert (process.returncode, b"Job hello completed successfully" in said) == (0, True)
    finally:
        home.close()


def test_the_container_has_the_time_that_a_stop_takes() -> None:
    (patience,) = re.findall(r"stop_grace_period: (\d+)s", (EXAMPLES / "compose.yaml").read_text())
    settings = Settings()
    assert int(patience) * 1000 >= settings.stop_grace + settings.kill_grace + 15_000

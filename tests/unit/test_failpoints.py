"""Failpoints: nothing unless the environment arms them, then exactly what it says."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from queuectl.failpoints import failpoint

PASS_THREE_TIMES = """
from queuectl.failpoints import failpoint
for number in (1, 2, 3):
    print(number, flush=True)
    failpoint("here")
failpoint("elsewhere")
print("end", flush=True)
"""


def run(**environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: text for name, text in os.environ.items() if not name.startswith("QUEUECTL_")}
    return subprocess.run(
        [sys.executable, "-c", PASS_THREE_TIMES],
        env=clean | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def armed(what: str) -> subprocess.CompletedProcess[str]:
    return run(QUEUECTL_ENABLE_FAILPOINTS="1", QUEUECTL_FAILPOINT=what)


def test_a_failpoint_does_nothing_by_default() -> None:
    failpoint("anything")


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"QUEUECTL_FAILPOINT": "here=kill9"},
        {"QUEUECTL_FAILPOINT": "here=kill9", "QUEUECTL_ENABLE_FAILPOINTS": "0"},
        {"QUEUECTL_FAILPOINT": "here=kill9", "QUEUECTL_ENABLE_FAILPOINTS": "yes"},
        {"QUEUECTL_ENABLE_FAILPOINTS": "1"},
        {"QUEUECTL_ENABLE_FAILPOINTS": "1", "QUEUECTL_FAILPOINT": "there=kill9"},
    ],
)
def test_both_variables_are_needed_and_the_name_must_match(environment: dict[str, str]) -> None:
    result = run(**environment)
    assert (result.returncode, result.stdout) == (0, "1\n2\n3\nend\n")


def test_kill9_dies_at_once() -> None:
    result = armed("here=kill9")
    assert (result.returncode, result.stdout) == (-signal.SIGKILL, "1\n")


def test_a_passage_can_be_chosen() -> None:
    assert armed("here@3=exit:7").stdout == "1\n2\n3\n"
    assert armed("here@3=exit:7").returncode == 7
    assert armed("here@4=exit:7").returncode == 0


def test_several_points_are_separated_by_commas() -> None:
    result = armed("nowhere=kill9,elsewhere=exit:5,")
    assert (result.returncode, result.stdout) == (5, "1\n2\n3\n")


def test_an_error_of_the_system_can_be_raised() -> None:
    result = armed("here@2=raise:ENOSPC")
    assert result.stdout == "1\n2\n"
    assert "No space left on device" in result.stderr


def test_a_pause_goes_on_afterwards() -> None:
    assert armed("here=sleep:0.001").stdout == "1\n2\n3\nend\n"


def test_a_wait_ends_when_its_file_exists(tmp_path: Path) -> None:
    file = tmp_path / "go"
    environment = os.environ | {
        "QUEUECTL_ENABLE_FAILPOINTS": "1",
        "QUEUECTL_FAILPOINT": f"here@2=wait:{file}",
    }
    with subprocess.Popen(
        [sys.executable, "-u", "-c", PASS_THREE_TIMES], env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == ["1\n", "2\n"]
        assert process.poll() is None
        file.touch()
        assert process.stdout.read() == "3\nend\n"


def test_stop_waits_for_a_signal_to_continue() -> None:
    environment = os.environ | {
        "QUEUECTL_ENABLE_FAILPOINTS": "1",
        "QUEUECTL_FAILPOINT": "here@2=stop",
    }
    with subprocess.Popen(
        [sys.executable, "-c", PASS_THREE_TIMES], env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            _, status = os.waitpid(process.pid, os.WUNTRACED)
            assert os.WIFSTOPPED(status)
            process.send_signal(signal.SIGCONT)
            assert process.communicate(timeout=60)[0] == "1\n2\n3\nend\n"
        finally:
            process.kill()


def test_an_unknown_action_is_an_error_not_a_silence() -> None:
    result = armed("here=explode")
    assert result.returncode == 1
    assert "unknown failpoint action 'explode'" in result.stderr

"""`queuectl demo`: all of it happens, on a store of its own, and nothing of it is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tests.support.cli import Cli, Terminal

from queuectl.cli.tour import STEPS, Step
from queuectl.cli.tourguide import Guide
from queuectl.errors import QueuectlError
from queuectl.queue import Queue
from queuectl.testing import wait_until

pytestmark = pytest.mark.process


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary directories are made."""
    path = tmp_path / "places"
    path.mkdir()
    monkeypatch.setenv("TMPDIR", str(path))
    monkeypatch.setattr("tempfile.tempdir", None)
    return path


def processes_of(places: Path) -> list[str]:
    """Processes that have anything to do with a tour: their command or their directory says so."""
    found = []
    for process in psutil.process_iter(["cmdline", "cwd"]):
        words = [*(process.info["cmdline"] or ()), process.info["cwd"] or ""]
        if any(str(places) in word for word in words):
            found.append(" ".join(words))
    return found


def assert_nothing_is_left(places: Path) -> None:
    assert list(places.iterdir()) == []
    assert processes_of(places) == []


def test_the_whole_tour_goes_as_told(cli_process: Cli, places: Path, home_dir: Path) -> None:
    result = cli_process("demo")
    assert result.code == 0, result.out + result.err
    for step in STEPS:
        assert f"$ {step.line}\n" in result.out
        for text in step.shows:
            assert text in result.out
    assert "\x1b" not in result.out
    assert not home_dir.exists()
    assert_nothing_is_left(places)


def started_demo() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "queuectl", "demo"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


@pytest.fixture
def demo(places: Path) -> Iterator[subprocess.Popen[bytes]]:
    process = started_demo()
    yield process
    process.terminate()
    process.communicate()


def read_until(process: subprocess.Popen[bytes], text: bytes) -> None:
    assert process.stdout is not None
    seen = b""
    while text not in seen:
        block = os.read(process.stdout.fileno(), 65536)
        assert block, seen
        seen += block


MOMENTS = [
    (b"$ queuectl enqueue", signal.SIGINT),
    (b"$ queuectl worker start", signal.SIGINT),  # that is: while they start
    (b"$ queuectl wait --all", signal.SIGHUP),  # with a worker, and a job that waits for its retry
]


@pytest.mark.parametrize(("moment", "number"), MOMENTS)
def test_ended_at_any_moment_it_leaves_nothing(
    demo: subprocess.Popen[bytes], places: Path, moment: bytes, number: int
) -> None:
    read_until(demo, moment)
    wait_until(lambda: processes_of(places) != [], what="something that could be left")
    demo.send_signal(number)
    _, err = demo.communicate(timeout=60)
    assert demo.returncode == 128 + number
    assert b"nothing of it is left" in err
    assert_nothing_is_left(places)


@pytest.mark.long
def test_killed_it_leaves_somebody_who_tidies_up(demo: subprocess.Popen[bytes], places: Path) -> None:
    read_until(demo, b"$ queuectl wait --all")
    demo.kill()
    demo.wait()
    wait_until(lambda: not (list(places.iterdir()) or processes_of(places)), what="nothing to be left")


def test_a_reader_who_has_had_enough_ends_it(demo: subprocess.Popen[bytes], places: Path) -> None:
    read_until(demo, b"$ queuectl enqueue")
    assert demo.stdout is not None
    demo.stdout.close()
    assert demo.wait(timeout=60) == 1
    assert_nothing_is_left(places)


# --- one step -----------------------------------------------------------------------------------------


def test_what_does_not_go_as_told_is_an_error(places: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(QueuectlError, match="exit code 1, not 0"), Guide() as guide:
        guide.show(Step("It fails.", "false"))
    with pytest.raises(QueuectlError, match="no 'hello'"), Guide() as guide:
        guide.show(Step("It says something else.", "echo good morning", "hello"))
    assert "$ echo good morning\ngood morning\n" in capsys.readouterr().out
    assert_nothing_is_left(places)


def test_the_store_of_the_user_is_neither_seen_nor_touched(
    queue: Queue, places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue.enqueue("true", id="mine")
    monkeypatch.setenv("QUEUECTL_DB", queue.store.location.file)
    monkeypatch.setenv("QUEUECTL_MAX_RETRIES", "9")
    with Guide() as guide:
        guide.show(Step("", "queuectl config get max-retries", "3"))
        guide.show(Step("", "queuectl status", "Total: 0"))
    assert [job.id for job in queue.list()] == ["mine"]


def test_signals_are_as_before_afterwards(places: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    with Guide():
        assert signal.getsignal(signal.SIGINT) != before
    assert signal.getsignal(signal.SIGINT) == before


# --- step by step -------------------------------------------------------------------------------------


def test_step_by_step_needs_a_terminal(cli: Cli, places: Path) -> None:
    result = cli("demo", "--step")
    assert result.code == 2
    assert "--step needs a terminal" in result.err
    assert_nothing_is_left(places)


def test_step_by_step_waits_for_enter_and_ends_with_the_input(terminal: Terminal, places: Path) -> None:
    seen = terminal("demo", "--step", keys="\n\x04")  # Enter, then Ctrl+D
    assert seen.code == 130
    assert seen.out.count("[Enter]") == 2
    assert seen.out.count("$ queuectl") == 2
    wait_until(lambda: processes_of(places) == [], what="the tour to be gone")
    assert_nothing_is_left(places)

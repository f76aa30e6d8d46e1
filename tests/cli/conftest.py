"""The command line under test: in this process, as a real process, and on a terminal."""

from __future__ import annotations

import io
import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest
from tests.support.fake_worker import FakeWorker

from queuectl.cli.main import main
from queuectl.queue import Queue


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str
    raw: bytes = b""

    def json(self) -> Any:
        return json.loads(self.out)


def assert_store_error(result: Result, says: str) -> None:
    assert result.code == 3, result.err
    assert result.out == ""
    assert result.err.startswith("error: ")
    assert says in result.err
    assert "hint: " in result.err
    assert "Traceback" not in result.err


class Cli(Protocol):
    def __call__(self, *words: str, stdin: str | None = None) -> Result: ...


@pytest.fixture(autouse=True)
def home_dir(tmp_path: Path, store_url: str | None, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A queue of its own for every test, and no setting from outside."""
    for name in list(os.environ):
        if name.startswith("QUEUECTL_") and name != "QUEUECTL_PORTABLE":
            monkeypatch.delenv(name)
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "home"
    monkeypatch.setenv("QUEUECTL_HOME", str(path))
    if store_url:
        monkeypatch.setenv("QUEUECTL_DB", store_url)
    return path


@pytest.fixture
def queue(home_dir: Path) -> Iterator[Queue]:
    with Queue.open() as opened:
        yield opened


@pytest.fixture
def fake_worker(queue: Queue) -> FakeWorker:
    return FakeWorker(queue)


@pytest.fixture
def several(queue: Queue, fake_worker: FakeWorker) -> None:
    """One job in each state that there is without dependencies."""
    fake_worker.furnish()


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, for the files of a test."""
    path = tmp_path / "files"
    path.mkdir()
    monkeypatch.chdir(path)
    return path


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The whole command line in this process; its stdout and stderr are no terminal."""

    def run(*words: str, stdin: str | None = None) -> Result:
        out, err = _stream(), _stream()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            patch.setattr(sys, "stdin", io.StringIO(stdin or ""))
            code = main(list(words))
        return _result(code, _written(out), _written(err))

    return run


def _stream() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)


def _written(stream: io.TextIOWrapper) -> bytes:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue()


def _result(code: int, out: bytes, err: bytes) -> Result:
    return Result(code, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"), out)


@pytest.fixture
def cli_process(home_dir: Path) -> Cli:
    """The real thing: `python -m queuectl` with pipes."""

    def run(*words: str, stdin: str | None = None) -> Result:
        done = subprocess.run(
            [sys.executable, "-m", "queuectl", *words],
            input=(stdin or "").encode(),
            capture_output=True,
            timeout=60,
            check=False,
        )
        return _result(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def start(home_dir: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start a command that is to be watched while it runs."""
    started: list[subprocess.Popen[bytes]] = []

    def run(*words: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", "queuectl", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


class Terminal(Protocol):
    def __call__(self, *words: str, keys: str = "", width: int = 80, term: str = "xterm") -> Result: ...


@pytest.fixture
def terminal(home_dir: Path) -> Terminal:
    """The real thing on a terminal, with what is typed; stdout and stderr both come out of it."""

    def run(*words: str, keys: str = "", width: int = 80, term: str = "xterm") -> Result:
        leader, follower = pty.openpty()
        _resize(follower, width)
        environment = {**os.environ, "TERM": term}
        process = subprocess.Popen(
            [sys.executable, "-m", "queuectl", *words],
            stdin=follower,
            stdout=follower,
            stderr=follower,
            env=environment,
        )
        os.close(follower)
        os.write(leader, keys.encode())
        seen = _read_all(leader, time.monotonic() + 60)
        os.close(leader)
        return Result(process.wait(60), seen.decode("utf-8", "replace"), "", seen)

    return run


def _resize(fd: int, width: int) -> None:
    import fcntl
    import struct
    import termios

    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))


def _read_all(fd: int, deadline: float) -> bytes:
    """Until the last process has closed the terminal, which Linux tells by an error."""
    seen = b""
    while time.monotonic() < deadline:
        if not select.select([fd], [], [], 0.5)[0]:
            continue
        try:
            block = os.read(fd, 65536)
        except OSError:
            return seen
        if not block:
            return seen
        seen += block
    raise AssertionError(f"the command did not end; so far: {seen!r}")

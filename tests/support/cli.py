"""The command line under test: in this process, as a real process with pipes, and on a terminal."""

from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any

import pytest

from queuectl.cli.main import main

QUEUECTL = (sys.executable, "-m", "queuectl")
_TIMEOUT = 60

Start = Callable[..., "subprocess.Popen[bytes]"]


@dataclass(frozen=True)
class Result:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str
    raw: bytes = b""  # stdout as bytes

    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        """What `--json` says of a failure: code, message, hint."""
        return json.loads(self.err)["error"]


class Cli:
    """`cli("list", "--json")` runs the command in this process; its streams are no terminal."""

    def __call__(self, *words: str, stdin: str | None = None, code: int | None = None) -> Result:
        """It must end with this exit code, if one is given."""
        result = self._run(words, stdin)
        assert code in (None, result.code), result.out + result.err
        return result

    def ok(self, *words: str) -> Result:
        return self(*words, code=0)

    def _run(self, words: tuple[str, ...], stdin: str | None) -> Result:
        with _input(stdin) as source, pytest.MonkeyPatch.context() as patch:
            out, err = _stream(), _stream()
            patch.setattr(sys, "argv", ["queuectl", *words])
            patch.setattr(sys, "stdin", source)
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            try:
                code = main(list(words))
            except SystemExit as leaving:  # --help
                code = int(leaving.code or 0)
        return _result(code, _written(out), _written(err))

    def failure(self, *words: str) -> tuple[int, str]:
        """The exit code and the code of the error of a command that is refused, and prints nothing else."""
        result = self("--json", *words)
        assert result.out == "", result.out
        return result.code, result.error["code"]


class CliProcess(Cli):
    """The same as `python -m queuectl` with pipes."""

    def _run(self, words: tuple[str, ...], stdin: str | None) -> Result:
        done = subprocess.run(
            [*QUEUECTL, *words],
            input=(stdin or "").encode(),
            capture_output=True,
            timeout=_TIMEOUT,
            check=False,
        )
        return _result(done.returncode, done.stdout, done.stderr)


class Terminal:
    """The same on a terminal, with what is typed; stdout and stderr both come out of it."""

    def __call__(self, *words: str, keys: str = "", width: int = 80, term: str = "xterm") -> Result:
        leader, follower = open_terminal(columns=width, lines=40)
        process = subprocess.Popen(
            [*QUEUECTL, *words],
            stdin=follower,
            stdout=follower,
            stderr=follower,
            env={**os.environ, "TERM": term},
        )
        os.close(follower)
        os.write(leader, keys.encode())
        seen = read_terminal(leader)
        os.close(leader)
        return Result(process.wait(_TIMEOUT), seen.decode("utf-8", "replace"), "", seen)


def open_terminal(*, columns: int, lines: int) -> tuple[int, int]:
    """Both ends of a terminal of that size: ours, and that of a program."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    return leader, follower


def read_terminal(fd: int) -> bytes:
    """All that is written until the last process has closed the terminal, which Linux tells by an error."""
    deadline = time.monotonic() + _TIMEOUT
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


def assert_store_error(result: Result, says: str) -> None:
    """The store could not be used: exit code 3, one line with the reason and one with a hint."""
    assert result.code == 3, result.err
    assert result.out == ""
    assert result.err.startswith("error: ")
    assert says in result.err
    assert "hint: " in result.err
    assert "Traceback" not in result.err


def _input(text: str | None) -> IO[str]:
    """A real file: some commands read stdin by its number."""
    if text is None:
        return open(os.devnull, encoding="utf-8")
    file = tempfile.TemporaryFile("w+", encoding="utf-8", newline="")  # noqa: SIM115  # closed by the caller
    file.write(text)
    file.seek(0)
    return file


def _stream() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)


def _written(stream: io.TextIOWrapper) -> bytes:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue()


def _result(code: int, out: bytes, err: bytes) -> Result:
    return Result(code, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"), out)

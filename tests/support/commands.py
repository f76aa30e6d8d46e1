"""`queuectl WORDS` in this process: what a user's shell would do, without the time that a start takes."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from unittest.mock import patch

from queuectl.cli.main import main


def run_command(
    words: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stderr: int = subprocess.PIPE,
) -> subprocess.CompletedProcess[str]:
    """Its stdin is empty; with `subprocess.STDOUT` stderr comes between stdout, as on a terminal.

    Workers that it starts are processes as always.
    """
    out = _stream()
    err = out if stderr == subprocess.STDOUT else _stream()
    with (
        patch.dict(os.environ, env or os.environ, clear=True),
        contextlib.chdir(cwd or Path.cwd()),
        patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO())),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            code = main(list(words))
        except SystemExit as end:  # --help
            code = end.code if isinstance(end.code, int) else 0
    return subprocess.CompletedProcess(["queuectl", *words], code, _written(out), _written(err))


def _stream() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode()

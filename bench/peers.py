"""Peers that are Python programs: each in a temporary virtual environment, never in ours."""

from __future__ import annotations

import json
import secrets
import subprocess
import tempfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.places import fresh_schema, tell

_SCRIPT = Path(__file__).with_name("procrastinate_peer.py")
_PACKAGES = ("procrastinate>=3", "psycopg[binary]>=3.3")  # the same driver as ours, with its C part
_PATIENCE = 300.0


class Missing(Exception):
    """The peer cannot be had here."""


class Procrastinate:
    """`count` jobs fetched and finished one by one, as it does, by one process."""

    def __init__(self, python: Path, server: str) -> None:
        self._python = python
        self._server = server

    def rate(self, *, count: int, tasks: int) -> float:
        """Jobs per second with so many coroutines at once, each with a connection."""
        schema = f"bench_{secrets.token_hex(6)}"
        wanted = {"url": self._server, "schema": schema, "count": count, "tasks": tasks}
        with fresh_schema(self._server, schema):
            tell(self._server, f'CREATE SCHEMA "{schema}"')
            answer = _run([str(self._python), str(_SCRIPT)], json.dumps(wanted))
        return float(answer)


@contextmanager
def procrastinate(server: str) -> Iterator[Procrastinate]:
    with tempfile.TemporaryDirectory(prefix="queuectl-bench-") as directory:
        python = Path(directory) / "bin" / "python"
        venv.create(directory, with_pip=True)
        _run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *_PACKAGES])
        yield Procrastinate(python, server)


def _run(command: list[str], given: str = "") -> str:
    try:
        done = subprocess.run(
            command, input=given, text=True, capture_output=True, timeout=_PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Missing(str(error)) from error
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise Missing(lines[-1])
    return done.stdout

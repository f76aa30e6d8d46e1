"""A Redis for one measurement."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.contestants.contestant import PATIENCE, Lost, Missing
from bench.contestants.starting import last_line, started

_LOOK_EVERY = 0.02  # seconds


@contextmanager
def private_redis(directory: Path) -> Iterator[str]:
    """One of its own, that writes nothing to disk: quickest, and nobody else's data are near."""
    socket = directory / "redis.sock"
    server = redis_server()
    options = ["--port", "0", "--unixsocket", str(socket), "--save", "", "--appendonly", "no"]
    log = directory / "redis.log"
    with started([[server, *options, "--dir", str(directory)]], os.environ, log) as (process,):
        deadline = time.monotonic() + PATIENCE
        while not socket.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                raise Lost(f"redis-server does not start: {last_line(log)}")
            time.sleep(_LOOK_EVERY)
        yield f"unix://{socket}"


def redis_server() -> str:
    found = shutil.which("redis-server") or shutil.which("valkey-server")
    if not found:
        raise Missing("redis-server is not on the PATH")
    return found

"""One private server for all processes of a test run: the first that asks starts it.

pytest-xdist gives every run an id; a directory named after it is the lock, and holds the URL and the server.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.servers import housing
from tests.support.servers.exits import at_exit
from tests.support.servers.lifecycle import PrivateServer
from tests.support.servers.private import PrivateMariadb, PrivatePostgres

SERVERS: dict[str, type[PrivateServer]] = {"postgres": PrivatePostgres, "mysql": PrivateMariadb}


def private_url(engine: str) -> str:
    """The run's private server; it is started if nobody has done so yet."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    return _own(engine) if run is None else _shared(engine, run)


def _own(engine: str) -> str:
    server = SERVERS[engine]()
    at_exit(server.close)
    server.start()
    return server.base_url


def _shared(engine: str, run: str) -> str:
    # A part of the id: the path of a unix socket must not have more than about 100 characters.
    directory = housing.temporary_root() / f"queuectl-{engine}-{os.getuid()}-{run[:8]}"
    with _locked(directory):
        note = directory / "url"
        if note.exists():
            return note.read_text()
        # Processes of the run come and go; the one that started them stays until its very end.
        controller = os.getppid()
        server = SERVERS[engine](directory=directory, until=controller)
        try:
            server.start()
        except BaseException:
            at_exit(server.close)
            raise
        note.write_text(server.base_url)
        return server.base_url


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    directory.mkdir(mode=0o700, exist_ok=True)
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)

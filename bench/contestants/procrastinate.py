"""procrastinate on PostgreSQL."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.contestants.contestant import SLOTS, Missing
from bench.contestants.python_queues import PythonQueue
from bench.places import POSTGRES, found, fresh_schema, tell


class Procrastinate(PythonQueue):
    """One worker with a concurrency of 2; the same server as ours, a schema of its own."""

    name = "procrastinate on PostgreSQL"
    count = 600
    packages = ("procrastinate>=3", "psycopg[binary]>=3.3")  # the same driver as ours, with its C part
    script = "for_procrastinate"

    def prepare(self) -> None:
        _server()
        super().prepare()

    @contextmanager
    def store(self, directory: Path) -> Iterator[str]:  # noqa: ARG002 - it is on a server
        server, schema = _server(), f"bench_{secrets.token_hex(6)}"
        with fresh_schema(server, schema):
            tell(server, f'CREATE SCHEMA "{schema}"')
            yield json.dumps({"url": server, "schema": schema})

    def workers(self, store: str) -> list[list[str]]:  # noqa: ARG002 - the script finds it
        program = [self.environment.program("procrastinate"), "--log-level", "error"]
        return [[*program, "--app", "for_procrastinate.app", "worker", "--concurrency", str(SLOTS)]]


def _server() -> str:
    servers = found((POSTGRES,))
    if POSTGRES not in servers:
        raise Missing("no server")
    return servers[POSTGRES]

"""procrastinate as a store: what it fetches and finishes without running anything."""

from __future__ import annotations

import json
import secrets
from pathlib import Path

from bench.contestants.installing import ask
from bench.contestants.procrastinate import Procrastinate as Contestant
from bench.places import fresh_schema, tell

_SCRIPT = Path(__file__).with_name("procrastinate_peer.py")


class Procrastinate:
    """`count` jobs fetched and finished one by one, as it does, by one process."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._environment = Contestant().environment
        self._environment.install()

    def rate(self, *, count: int, tasks: int) -> float:
        """Jobs per second with so many coroutines at once, each with a connection."""
        schema = f"bench_{secrets.token_hex(6)}"
        wanted = {"url": self._server, "schema": schema, "count": count, "tasks": tasks}
        with fresh_schema(self._server, schema):
            tell(self._server, f'CREATE SCHEMA "{schema}"')
            answer = ask([self._environment.program("python"), str(_SCRIPT)], given=json.dumps(wanted))
        return float(answer)

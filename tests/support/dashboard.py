"""The real server as a process of its own, and how tests talk with it."""

from __future__ import annotations

import itertools
import json
import os
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from queuectl import Queue
from queuectl.store.migrate import OUR_TABLES
from tests.support import fork_server
from tests.support.home import Home

_addresses = itertools.count(1)


def another_address() -> str:
    """Of this machine, and used by nobody else: wrong tokens are counted for each address."""
    number = next(_addresses)
    return f"127.1.{number >> 8}.{number & 255}"


OWN = "the store's own token"
Process = fork_server.Started | subprocess.Popen[bytes]


class Server:
    """`queuectl dashboard --port 0` on a home's store. `args` and `env` are added to the command's.

    Its process is forked from one that has imported the program; a `NewProcessServer` starts Python itself.
    """

    def __init__(self, home: Home, *args: str, env: dict[str, str] | None = None) -> None:
        self.home = home
        self.path = home.path
        self._clients: list[httpx.Client] = []
        port = () if "--port" in args else ("--port", "0")
        stderr, errors = tempfile.mkstemp(prefix="dashboard-", suffix=".stderr", dir=home.work.parent)
        self._errors = Path(errors)
        try:
            self.process = self._start(
                ["dashboard", *port, "--json", *args], {**home.env, **(env or {})}, stderr
            )
        finally:
            os.close(stderr)
        said = self._announced()
        self.url: str = said["url"].rstrip("/")
        self.link: str = said["link"]
        self.port = int(urlsplit(self.url).port or 0)
        file = Path(home.location.state_dir, "dashboard.token")
        self.token = file.read_text().strip() if file.exists() else ""

    def _start(self, words: list[str], env: dict[str, str], stderr: int) -> Process:
        return fork_server.start(words, env=env, cwd=self.home.work, stderr=stderr)

    def _announced(self) -> dict[str, Any]:
        """What it prints once it can be used: one JSON document."""
        assert self.process.stdout is not None
        said = b""
        while not said.endswith(b"}\n"):
            ready, _, _ = select.select([self.process.stdout], [], [], 30)
            more = os.read(self.process.stdout.fileno(), 65_536) if ready else b""
            if not more:
                self.kill()
                raise AssertionError(f"the server did not start: {self.stderr}")
            said += more
        document: dict[str, Any] = json.loads(said)
        return document

    @property
    def code(self) -> str:
        """The one-time code of the link."""
        return self.link.partition("#code=")[2]

    @property
    def api(self) -> str:
        return f"{self.url}/api/v1"

    @property
    def stderr(self) -> str:
        return self._errors.read_text(errors="replace")

    def queue(self) -> Queue:
        """A connection of the test's own to the store."""
        return self.home.queue()

    def client(self, token: str | None = OWN, *, address: str | None = None, **options: Any) -> httpx.Client:
        """By default with the admin token; None: without any. Paths are relative to the server's root.

        `address`: where it comes from; see `another_address`.
        """
        headers = dict(options.pop("headers", {}))
        if token is not None:
            headers["Authorization"] = f"Bearer {self.token if token is OWN else token}"
        options.setdefault("timeout", 30)
        if address is not None:
            options["transport"] = httpx.HTTPTransport(local_address=address)
        client = httpx.Client(base_url=options.pop("base_url", self.url), headers=headers, **options)
        self._clients.append(client)
        return client

    def stop(self, sig: int = signal.SIGTERM, *, timeout: float = 10) -> None:
        """End it as an operator would; it must end by itself, and without a complaint."""
        if self.process.poll() is None:
            self.process.send_signal(sig)
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the server did not end within {timeout:g} s: {self.stderr}") from None
        self._forget()
        # -15: uvicorn raises the signal again when it is done (`_captured_signals`); web/server.py must not
        # let it. Nor may its handler close the streams: it may interrupt one who holds their lock.
        assert code == 0, (code, self.stderr)
        assert "Traceback" not in self.stderr, self.stderr

    def empty(self) -> None:
        """No job, no rule and no setting is left, so that another test can use it. Its tokens stay."""
        with closing(sqlite3.connect(self.path / "queue.db", timeout=30)) as db:
            db.execute("PRAGMA synchronous = OFF")
            for table in OUR_TABLES:
                if table != "compatibility":
                    db.execute(f"DELETE FROM {table}")
            db.commit()
        # Numbers of jobs are given again, and so are the names of the files with their output.
        for path in (*self.home.work.iterdir(), *(self.path / "logs").glob("*")):
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def kill(self) -> None:
        """Without any warning, as a crash does."""
        self.process.kill()
        self.process.wait(10)
        self._forget()

    def _forget(self) -> None:
        for client in self._clients:
            client.close()
        if self.process.stdout is not None:
            self.process.stdout.close()


class NewProcessServer(Server):
    """Its process is the interpreter with the program, as it is when somebody types the command."""

    program: tuple[str, ...] = ("-m", "queuectl")

    def _start(self, words: list[str], env: dict[str, str], stderr: int) -> Process:
        return subprocess.Popen(
            [sys.executable, *self.program, *words],
            env=env,
            cwd=self.home.work,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
        )

"""The doctor in this process, and a store that a test can damage by plain SQL."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psycopg
from tests.support.servers.admin import connect_mysql
from tests.support.servers.urls import engine_of, split_database, split_schema

from queuectl.app import open_queue
from queuectl.cli.main import main
from queuectl.queue import Queue


class Report:
    """What one run of the doctor said."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err

    @property
    def document(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.out)
        return document

    @property
    def findings(self) -> list[dict[str, Any]]:
        findings: list[dict[str, Any]] = self.document["findings"]
        return findings

    def about(self, part: str) -> list[dict[str, Any]]:
        """The findings that mention it."""
        return [finding for finding in self.findings if part in finding["message"]]

    def one(self, part: str) -> dict[str, Any]:
        (finding,) = self.about(part)
        return finding

    def level(self, part: str) -> str:
        return str(self.one(part)["level"])

    def worse_than(self, *fine: str) -> list[str]:
        return [f"{f['level']}: {f['message']}" for f in self.findings if f["level"] not in fine]


def run(url: str | None, *words: str) -> Report:
    """The whole command line; neither of its streams is a terminal."""
    out, err = io.StringIO(), io.StringIO()
    named = {} if url is None else {"QUEUECTL_DB": url}
    with patch.dict(os.environ, named), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["doctor", *words])
    return Report(code, out.getvalue(), err.getvalue())


def doctor(url: str | None, *words: str) -> Report:
    return run(url, "--json", *words)


class Place:
    """Where a queue is, or could be."""

    def __init__(self, engine: str, url: str, home_dir: Path) -> None:
        self.engine = engine
        self.url = url
        self.home = home_dir

    def queue(self, *, create: bool = True) -> Queue:
        return open_queue(self.url, create=create)

    def make(self, jobs: int = 0) -> None:
        with self.queue() as queue:
            for number in range(jobs):
                queue.enqueue("true", id=f"job{number}")

    def ask(self, *statements: str) -> list[tuple[Any, ...]]:
        """Commit these; the rows of the last one."""
        with self.connection() as connection:
            for statement in statements:
                rows = answer(connection, statement)
            connection.commit()
        return rows

    @contextlib.contextmanager
    def connection(self) -> Iterator[Any]:
        connection = connect(self.url)
        try:
            yield connection
        finally:
            connection.close()

    def everything(self) -> object:
        """All that is stored, and every file on this machine; -shm is memory that happens to have a name."""
        files = {
            str(path): (path.stat().st_mode, path.read_bytes() if path.is_file() else b"")
            for path in sorted(self.home.rglob("*"))
            if not path.name.endswith("-shm")
        }
        return files if self.engine == "sqlite" else (files, self._tables())

    def _tables(self) -> list[object]:
        schema = split_schema(self.url)[1]
        kinds = (
            "SELECT relname, relkind, relfilenode FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace "
            f"WHERE nspname = '{schema}' AND relkind IN ('r', 'i', 'S') ORDER BY relkind DESC, relname"
        )
        with self.connection() as connection:
            things = answer(connection, "SHOW TABLES" if self.engine == "mysql" else kinds)
            names = [row[0] for row in things if self.engine == "mysql" or row[1] == "r"]
            shown = "SHOW CREATE TABLE {0}" if self.engine == "mysql" else "SELECT 1"
            return [
                things,
                *(
                    (answer(connection, shown.format(n)), answer(connection, f"SELECT * FROM {n}"))
                    for n in names
                ),
            ]


def answer(connection: Any, statement: str) -> list[tuple[Any, ...]]:
    cursor = connection.cursor()
    cursor.execute(statement)
    return list(cursor.fetchall()) if cursor.description else []


def connect(url: str) -> Any:
    """A connection beside the store's own; its first statement begins a transaction."""
    if "://" not in url:
        return sqlite3.connect(url)
    if engine_of(url) == "mysql":
        server, database = split_database(url)
        return connect_mysql(server, database=database or None)
    server, schema = split_schema(url)
    return psycopg.connect(server, options=f"-c search_path={schema}" if schema else "")

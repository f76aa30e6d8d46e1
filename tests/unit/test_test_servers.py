"""The tests' own servers: they survive a kill with their data and leave nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pymysql
import pytest
from tests.support.servers import PrivateMariadb, PrivatePostgres, drop
from tests.support.servers.admin import connect_mysql
from tests.support.servers.binaries import missing
from tests.support.servers.private import PrivateServer
from tests.support.servers.process import is_gone
from tests.support.servers.urls import engine_of, split_database, split_schema

from queuectl.testing import wait_until

ROOT = Path(__file__).resolve().parents[2]
ENGINES = ["postgres", "mysql"]
SERVERS = [PrivatePostgres, PrivateMariadb]
NO_ANSWER = (psycopg.OperationalError, pymysql.err.OperationalError)


def connect(url: str, name: str = "test") -> Any:
    """A client's connection; its first statement begins a transaction."""
    if engine_of(url) == "mysql":
        server, database = split_database(url)
        return connect_mysql(server, database=database or None)
    server, schema = split_schema(url)
    options = f"-c search_path={schema}" if schema else ""
    return psycopg.connect(server, application_name=name, options=options)


def ask(url: str, *statements: str) -> list[tuple[Any, ...]]:
    """Commit the statements; the rows of the last one."""
    connection = connect(url)
    try:
        with connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            rows = list(cursor.fetchall()) if cursor.description else []
        connection.commit()
    finally:
        connection.close()
    return rows


def place_of(url: str) -> str:
    return split_schema(url)[1] or split_database(url)[1]


def make(url: str) -> None:
    """What a queue does first: PostgreSQL's schema is its own affair."""
    if engine_of(url) == "postgres":
        ask(url, f"CREATE SCHEMA {place_of(url)}")


@pytest.fixture(scope="module", params=SERVERS)
def server(request: pytest.FixtureRequest) -> Iterator[PrivateServer]:
    with request.param() as it:
        yield it


@pytest.mark.long
def test_a_private_server_keeps_what_was_committed_when_it_is_killed(server: PrivateServer) -> None:
    url = server.fresh_url()
    make(url)
    ask(url, "CREATE TABLE kept (n int)", "INSERT INTO kept VALUES (7)")
    idle = connect(url)  # PostgreSQL has a child for it, which would outlive its parent for a while
    family = [psutil.Process(server.pid), *psutil.Process(server.pid).children(recursive=True)]
    server.kill()
    assert all(is_gone(process) for process in family)
    idle.close()
    with pytest.raises(NO_ANSWER):
        ask(server.base_url, "SELECT 1")
    server.start()
    assert ask(url, "SELECT n FROM kept") == [(7,)]
    server.restart()
    assert ask(url, "SELECT n FROM kept") == [(7,)]


@pytest.mark.long
@pytest.mark.parametrize("kind", SERVERS)
def test_a_private_server_does_not_outlive_a_test_process_that_is_killed(kind: type[PrivateServer]) -> None:
    kind.require_programs()
    script = (
        f"from tests.support.servers import {kind.__name__} as Server; server = Server(); server.start();"
        "print(server.pid, server.directory, flush=True); input()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout
        pid, directory = process.stdout.readline().split()
        assert psutil.pid_exists(int(pid))
        process.send_signal(signal.SIGKILL)
    wait_until(lambda: not psutil.pid_exists(int(pid)), what="the server to end")
    wait_until(lambda: not Path(directory).exists(), what="its directory to be removed")


RUN = """
import os
from pathlib import Path
import pytest
from tests.support.servers import fresh_url
from tests.support.servers.binaries import installed
from tests.support.servers.found import base_url

@pytest.mark.parametrize("engine", ["postgres", "mysql"])
@pytest.mark.parametrize("turn", range(2))
def test_it(engine, turn):
    worker = os.environ["PYTEST_XDIST_WORKER"]
    Path(os.environ["NOTES"], f"{engine}-{worker}").write_text(base_url(engine))
    fresh_url(engine)
"""


@pytest.mark.long
def test_all_processes_of_a_run_share_one_private_server_and_it_ends_with_the_run(tmp_path: Path) -> None:
    for kind in SERVERS:
        kind.require_programs()
    (tmp_path / "test_run.py").write_text(RUN)
    notes = tmp_path / "notes"
    notes.mkdir()
    private = {"QUEUECTL_TEST_POSTGRES": "private", "QUEUECTL_TEST_MYSQL": "private", "NOTES": str(notes)}
    inherited = {name: text for name, text in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "xdist", "-q", "-n2", "--dist=each"),
            *("-p", "no:cacheprovider", "--rootdir", str(tmp_path), "-c", os.devnull, str(tmp_path)),
        ],
        env={**inherited, **private, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for engine in ENGINES:
        urls = [(notes / f"{engine}-{worker}").read_text() for worker in ("gw0", "gw1")]
        assert urls[0] == urls[1] != ""
        wait_until(lambda url=urls[0]: not answers(url), what=f"the {engine} of the run to end")


def answers(url: str) -> bool:
    try:
        ask(url, "SELECT 1")
    except NO_ANSWER:
        return False
    return True


@pytest.mark.parametrize(
    "url", ["postgresql://h/d?schema=public", "postgresql://h/d", "mysql://h/mysql", "mysql://h/"]
)
def test_what_is_not_a_place_of_a_test_is_not_dropped(url: str) -> None:
    with pytest.raises(ValueError, match="not a place of a test"):
        drop(url)


@pytest.mark.parametrize("engine", ENGINES)
def test_without_a_server_a_test_is_skipped_and_fails_in_ci(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="make servers"):
        missing(engine)
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="make servers"):
        missing(engine)

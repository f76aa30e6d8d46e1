"""A store that cannot be opened: exit code 3, how far one gets, and never a password."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.doctor.place import Place, connect, doctor, run
from tests.support.servers import PrivateMariadb, PrivatePostgres
from tests.support.servers.admin import connect_mysql

from queuectl.doctor.checkup import check
from queuectl.testing import FakeClock

SECRET = "open-sesame-47"
SCHEMES = ["postgresql", "mysql"]


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port at which nobody listens, and which nobody else takes."""
    with socket.socket() as line:
        line.bind(("127.0.0.1", 0))
        yield line.getsockname()[1]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_server_that_is_not_there(scheme: str, silent_port: int, home_dir: Path) -> None:
    report = doctor(f"{scheme}://me:{SECRET}@127.0.0.1:{silent_port}/jobs")

    assert report.code == 3
    assert report.document["store"] == f"{scheme}://me@127.0.0.1:{silent_port}/jobs"
    assert report.level("driver: ") == "ok"
    assert report.level(f"127.0.0.1:{silent_port} does not answer") == "problem"
    assert "start the server" in report.one("cannot reach")["fix"]
    assert not home_dir.exists()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_host_that_does_not_exist(scheme: str) -> None:
    report = doctor(f"{scheme}://me:{SECRET}@nowhere.invalid/jobs")

    assert (report.code, report.level("there is no host nowhere.invalid")) == (3, "problem")


@pytest.mark.parametrize(
    "url", ["postgresql://me@/jobs?host={0}", "mysql://me@localhost/jobs?unix_socket={0}/server.sock"]
)
def test_a_socket_that_is_not_there(url: str, tmp_path: Path) -> None:
    report = doctor(url.format(tmp_path))

    assert report.code == 3
    assert (
        report.level(f"{tmp_path}/.s.PGSQL.5432 does" if "host=" in url else "server.sock does") == "problem"
    )


def test_a_port_where_somebody_else_listens() -> None:
    """It accepts, and closes at once: no database, but not nothing either."""
    script = (
        "import socket, sys; line = socket.create_server(('127.0.0.1', 0)); "
        "print(line.getsockname()[1], flush=True)\nwhile True: line.accept()[0].close()"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        port = int(process.stdout.readline())
        report = doctor(f"mysql://me@127.0.0.1:{port}/jobs")
        process.kill()

    assert (report.code, report.level(f"127.0.0.1:{port} accepts connections")) == (3, "ok")


@pytest.fixture(scope="module")
def locked_postgres() -> Iterator[str]:
    """A server that wants a password."""
    with PrivatePostgres() as server:
        rules = server.data / "pg_hba.conf"
        rules.write_text("host all keeper all scram-sha-256\n" + rules.read_text())
        with connect(server.base_url) as connection:
            connection.execute(f"CREATE ROLE keeper LOGIN PASSWORD '{SECRET}'")
            connection.execute("SELECT pg_reload_conf()")
        yield server.base_url.replace("postgres@", "keeper:{0}@")


@pytest.fixture(scope="module")
def locked_mariadb() -> Iterator[str]:
    with PrivateMariadb() as server:
        with connect_mysql(server.base_url) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE DATABASE jobs")
            cursor.execute(f"CREATE USER keeper IDENTIFIED BY '{SECRET}'")
            cursor.execute("GRANT ALL ON jobs.* TO keeper")
        yield server.base_url.replace("root@", "keeper:{0}@") + "jobs"


@pytest.mark.long
@pytest.mark.parametrize("server", ["locked_postgres", "locked_mariadb"])
@pytest.mark.parametrize("password", [SECRET, "wrong-" + SECRET])
def test_a_password_never_appears(
    server: str, password: str, request: pytest.FixtureRequest, home_dir: Path
) -> None:
    url = request.getfixturevalue(server).format(password)

    for words in ((), ("--json",), ("--debug",), ("--db", url), ("--json", "--db", url)):
        report = run(None if "--db" in words else url, *words)
        assert SECRET not in report.out + report.err
        assert report.code == 3  # refused, or there is no queue yet
        assert "keeper@127.0.0.1" in report.out
    refused = "refuses us" in run(url).out
    assert refused == (password != SECRET)
    assert not home_dir.exists()


@pytest.mark.parametrize(
    ("module", "url", "command"),
    [
        ("psycopg", f"postgresql://me:{SECRET}@127.0.0.1:{{0}}/jobs", "pip install 'queuectl[postgres]'"),
        ("pymysql", f"mysql://me:{SECRET}@127.0.0.1:{{0}}/jobs", "pip install 'queuectl[mysql]'"),
    ],
)
def test_a_missing_driver_is_told_with_the_command_that_installs_it(
    module: str, url: str, command: str, silent_port: int
) -> None:
    script = (
        f"import sys; sys.modules['{module}'] = None\n"
        "from queuectl.cli.main import main; sys.exit(main(['doctor']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "QUEUECTL_DB": url.format(silent_port)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 3
    assert f"→ {command}\n" in done.stdout
    assert "does not answer" in done.stdout
    assert SECRET not in done.stdout + done.stderr


def test_an_address_with_an_unknown_option_is_a_finding(home_dir: Path) -> None:
    report = doctor(f"mysql://me:{SECRET}@127.0.0.1/jobs?colour=blue")

    assert (report.code, report.level("unknown option 'colour'")) == (3, "problem")
    assert SECRET not in report.out


@pytest.mark.parametrize(
    ("seconds", "level", "words"),
    [
        (0.5, "ok", "agree within"),
        (5, "warning", "ahead of the server's"),
        (-5, "warning", "behind the server's"),
        (100, "problem", "ahead of the server's"),
        (-100, "problem", "behind the server's"),
    ],
)
def test_the_clocks_of_this_machine_and_the_server_are_compared(
    server_place: Place, seconds: float, level: str, words: str
) -> None:
    sql = (
        "SELECT extract(epoch FROM now())"
        if server_place.engine == "postgres"
        else "SELECT UNIX_TIMESTAMP(NOW(3))"
    )
    there = float(server_place.ask(sql)[0][0])

    checkup = check(server_place.url, clock=FakeClock(round((there + seconds) * 1000)))

    (finding,) = [finding for finding in checkup.findings if finding.group == "clock"]
    assert (finding.level, words in finding.what) == (level, True)

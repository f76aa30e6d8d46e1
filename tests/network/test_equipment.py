"""What the proxy and the machines of the tests do; queuectl itself is not tested here."""

from __future__ import annotations

import os
import secrets
import signal
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pymysql
import pytest

from queuectl.testing import wait_until
from tests.support.engines import SERVERS, engines
from tests.support.machines import Machine, Net, require_namespaces
from tests.support.proxy import Proxy
from tests.support.servers import drop, fresh_url
from tests.support.servers.urls import split_schema

pytestmark = pytest.mark.long

SESSION = {
    "postgres": "SELECT pg_backend_pid()",
    "mysql": "SELECT connection_id()",
}
ALIVE = {
    "postgres": "SELECT 1 FROM pg_stat_activity WHERE pid = %s",
    "mysql": "SELECT 1 FROM information_schema.processlist WHERE id = %s",
}


class Database:
    """One table of its own on a server, and what the server says about its clients."""

    def __init__(self, engine: str) -> None:
        self.engine = engine
        self.place = fresh_url(engine)
        self.url = urlsplit(split_schema(self.place)[0])
        self.address = self.url.hostname or "127.0.0.1", self.url.port or 0
        self.table = f"equipment_{secrets.token_hex(6)}"
        self.lost = psycopg.OperationalError if engine == "postgres" else pymysql.err.OperationalError
        self._direct = self.connect(self.address)
        self._direct.autocommit(True) if engine == "mysql" else self._direct.set_autocommit(True)
        self.ask(f"CREATE TABLE {self.table} (id integer PRIMARY KEY)")

    def close(self) -> None:
        self.ask(f"DROP TABLE {self.table}")
        self._direct.close()
        drop(self.place)

    def connect(self, address: tuple[str, int], **options: Any) -> Any:
        options = {
            "host": address[0],
            "port": address[1],
            "user": self.url.username,
            "password": self.url.password or "",
            "connect_timeout": 10,
            **options,
        }
        name = self.url.path.lstrip("/")
        if self.engine == "mysql":
            return pymysql.connect(database=name, **options)
        return psycopg.connect(**{"dbname": name, "sslmode": "disable", **options})

    def ask(self, sql: str, *values: object) -> list[Any]:
        return _ask(self._direct, sql, *values)

    def session(self, connection: Any) -> int:
        return _ask(connection, SESSION[self.engine])[0][0]

    def alive(self, session: int) -> bool:
        return bool(self.ask(ALIVE[self.engine], session))

    def insert(self, connection: Any, id: int) -> None:
        _ask(connection, f"INSERT INTO {self.table} VALUES (%s)", id)

    def ids(self) -> list[int]:
        return [id for (id,) in self.ask(f"SELECT id FROM {self.table} ORDER BY id")]


def _ask(connection: Any, sql: str, *values: object) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values or None)
        return list(cursor.fetchall()) if cursor.description else []


@pytest.fixture(params=engines(*SERVERS))
def database(request: pytest.FixtureRequest) -> Iterator[Database]:
    with closing(Database(request.param)) as it:
        yield it


@pytest.fixture
def proxy(database: Database) -> Iterator[Proxy]:
    with Proxy(upstream=database.address, protocol=database.engine) as it:
        yield it


def at(proxy: Proxy) -> tuple[str, int]:
    return proxy.host, proxy.port


def test_the_proxy_passes_everything_on(database: Database, proxy: Proxy) -> None:
    with closing(database.connect(at(proxy))) as connection:
        for id in range(3):
            database.insert(connection, id)
            connection.commit()
        long = "x" * 3_000_000
        assert _ask(connection, "SELECT %s", long) == [(long,)]
        session = database.session(connection)
    assert database.ids() == [0, 1, 2]
    assert (proxy.commits_seen, proxy.swallowed) == (3, 0)
    wait_until(lambda: not proxy.connections and not database.alive(session), what="the end of the session")


def test_a_swallowed_commit_is_committed_but_the_client_does_not_know(
    database: Database, proxy: Proxy
) -> None:
    proxy.swallow_commit(times=2)
    for id in (1, 2):
        with closing(database.connect(at(proxy))) as connection:
            database.insert(connection, id)
            with pytest.raises(database.lost):
                connection.commit()
            # At once: the server had answered before the client was cut off.
            assert (database.ids()[-1], proxy.swallowed) == (id, id)
    with closing(database.connect(at(proxy))) as connection:
        database.insert(connection, 3)
        connection.commit()
    assert (database.ids(), proxy.commits_seen, proxy.swallowed) == ([1, 2, 3], 3, 2)


def test_a_cut_before_the_commit_rolls_back(database: Database, proxy: Proxy) -> None:
    proxy.cut_before_commit()
    with closing(database.connect(at(proxy))) as connection:
        session = database.session(connection)
        database.insert(connection, 1)
        with pytest.raises(database.lost):
            connection.commit()
    wait_until(lambda: not database.alive(session), what="the server to give up the session")
    assert (database.ids(), proxy.commits_seen, proxy.swallowed) == ([], 1, 0)


def test_a_delayed_commit_lands_long_after_the_client_lost_it(database: Database, proxy: Proxy) -> None:
    late = threading.Event()
    proxy.delay_commit(late)
    with closing(database.connect(at(proxy))) as connection:
        session = database.session(connection)
        database.insert(connection, 1)
        with pytest.raises(database.lost):
            connection.commit()
    with pytest.raises(AssertionError, match="too early"):
        wait_until(lambda: database.ids() or not database.alive(session), timeout=0.2, what="it, too early")
    late.set()
    wait_until(lambda: proxy.delayed == 1, what="the COMMIT to land")
    assert database.ids() == [1]
    wait_until(lambda: not database.alive(session), what="the end of the session")


class _Echo(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        for line in self.rfile:
            self.wfile.write(line)


# Sends each line of its input to the address, and prints what comes back.
_TALK = """
import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=float(sys.argv[3])) as sock:
    for line in sys.stdin:
        sock.sendall(line.encode())
        print(sock.makefile().readline(), end="", flush=True)
"""

_SEEN = """
import os
from queuectl import clock, system
me = system.identify()
started = int(me.start) // os.sysconf("SC_CLK_TCK")
print(system.hostname(), system.boot_id(), clock.lease_clock_ms() // 1000, started, me.namespace)
"""


@pytest.fixture
def net() -> Iterator[Net]:
    require_namespaces()
    with Net() as it:
        yield it


@pytest.fixture
def echo(net: Net) -> Iterator[tuple[str, int]]:
    with socketserver.ThreadingTCPServer((net.server_address, 0), _Echo) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server.server_address
        server.shutdown()
        thread.join()


def talk(echo: tuple[str, int], timeout: float) -> list[str]:
    return [sys.executable, "-S", "-c", _TALK, echo[0], str(echo[1]), str(timeout)]


def reaches(machine: Machine, echo: tuple[str, int], timeout: float = 10) -> bool:
    return machine.run(talk(echo, timeout), input="hello\n").stdout == "hello\n"


def test_machines_are_different_computers(net: Net) -> None:
    machines = net.machine("a"), net.machine("b")
    seen = [machine.run([sys.executable, "-c", _SEEN], check=True).stdout.split() for machine in machines]
    seen.append(subprocess.check_output([sys.executable, "-c", _SEEN], text=True).split())
    hosts, boots, clocks, starts, namespaces = zip(*seen, strict=True)
    assert hosts[:2] == ("a", "b")
    assert boots[:2] == (machines[0].boot_id, machines[1].boot_id)
    for different in (hosts, boots, namespaces):
        assert len(set(different)) == 3
    for machine, clock, start in zip(machines, clocks[:2], starts[:2], strict=True):
        assert int(clock) - int(clocks[2]) == pytest.approx(machine.clock_ahead, abs=60)
        assert int(start) - int(starts[2]) == pytest.approx(machine.clock_ahead, abs=60)
    assert boots[2] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def test_a_cut_machine_reaches_nobody_until_it_joins(net: Net, echo: tuple[str, int]) -> None:
    a, b = net.machine("a"), net.machine("b")
    assert reaches(a, echo)
    a.cut()
    assert not reaches(a, echo, timeout=0.4)
    assert reaches(b, echo)
    a.join()
    assert reaches(a, echo)


_DYING = """
import os, signal
from tests.support.machines import Net
net = Net()
process = net.machine("a").popen(["sleep", "1000"])
print(net.link, os.readlink(f"/proc/{process.pid}/ns/pid"), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_net_dies_with_the_test_process() -> None:
    require_namespaces()
    killed = subprocess.run(
        [sys.executable, "-c", _DYING], capture_output=True, text=True, check=False, timeout=30
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    link, space = killed.stdout.split()
    wait_until(lambda: not processes_in(space), what="the machine to die")
    wait_until(lambda: link not in links(), what="the link to go")


def links() -> list[str]:
    return os.listdir("/sys/class/net")


def processes_in(pid_namespace: str) -> list[int]:
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{name}/ns/pid") == pid_namespace:
                found.append(int(name))
        except OSError:  # it has ended, or is not ours
            continue
    return found

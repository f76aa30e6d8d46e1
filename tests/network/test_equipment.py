"""The equipment for tests over a network does what it says; queuectl itself is not tested here."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import socketserver
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

import psycopg
import pymysql
import pytest
from psycopg import generators

from queuectl.testing import wait_until
from tests.support.machines import Machine, Net, require_namespaces, why_not
from tests.support.proxy import Proxy

ENGINES = "postgres", "mysql"


def server_url(engine: str) -> SplitResult:
    """The one place that knows where the servers are."""
    variable, default = {
        "postgres": ("QUEUECTL_TEST_POSTGRES", "postgresql://postgres@127.0.0.1:5432/test"),
        "mysql": ("QUEUECTL_TEST_MYSQL", "mysql://root@127.0.0.1:3306/test"),
    }[engine]
    return urlsplit(os.environ.get(variable) or default)


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
        self.url = server_url(engine)
        self.address = self.url.hostname or "127.0.0.1", self.url.port or 0
        self.table = f"equipment_{secrets.token_hex(6)}"
        self.lost = psycopg.OperationalError if engine == "postgres" else pymysql.err.OperationalError
        self._direct = self.connect(self.address)
        self._direct.autocommit(True) if engine == "mysql" else self._direct.set_autocommit(True)
        self.ask(f"CREATE TABLE {self.table} (id integer PRIMARY KEY)")

    def close(self) -> None:
        self.ask(f"DROP TABLE {self.table}")
        self._direct.close()

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


@pytest.fixture(params=ENGINES)
def database(request: pytest.FixtureRequest) -> Iterator[Database]:
    with closing(Database(request.param)) as it:
        yield it


@pytest.fixture
def postgres() -> Iterator[Database]:
    with closing(Database("postgres")) as it:
        yield it


@pytest.fixture
def proxy(request: pytest.FixtureRequest) -> Iterator[Proxy]:
    name = "database" if "database" in request.fixturenames else "postgres"
    database: Database = request.getfixturevalue(name)
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


def test_a_client_that_dies_takes_its_session_along(database: Database, proxy: Proxy) -> None:
    with closing(database.connect(at(proxy))) as connection:
        session = database.session(connection)
        postgres = database.engine == "postgres"
        with socket.socket(fileno=os.dup((connection if postgres else connection._sock).fileno())) as sock:
            sock.shutdown(socket.SHUT_RDWR)  # the driver has no chance to say goodbye
        wait_until(lambda: not proxy.connections and not database.alive(session), what="the session to end")


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


def test_a_delayed_commit_is_lost_with_its_connection(database: Database, proxy: Proxy) -> None:
    late = threading.Event()
    proxy.delay_commit(late)
    with closing(database.connect(at(proxy))) as connection:
        session = database.session(connection)
        database.insert(connection, 1)
        with pytest.raises(database.lost):
            connection.commit()
    proxy.cut_all()
    late.set()
    wait_until(lambda: not database.alive(session), what="the server to give up the session")
    assert (database.ids(), proxy.delayed) == ([], 0)


def test_traps_choose_their_commits(database: Database, proxy: Proxy) -> None:
    proxy.swallow_commit(which=lambda transaction: any("DELETE" in sql for sql in transaction))
    proxy.cut_before_commit(which=3)
    outcomes = []
    for sql in ("INSERT INTO {} VALUES (1)", "INSERT INTO {} VALUES (2)", "DELETE FROM {} WHERE id = 1") * 2:
        with closing(database.connect(at(proxy))) as connection:
            try:
                _ask(connection, sql.format(database.table).replace("(1)", f"({len(outcomes) + 1})"))
                connection.commit()
                outcomes.append("ok")
            except database.lost:
                outcomes.append("lost")
            except (psycopg.IntegrityError, pymysql.IntegrityError):
                outcomes.append("twice")
    # The DELETE goes into the first trap, so that the third COMMIT for the second is the next one.
    assert outcomes == ["ok", "ok", "lost", "lost", "twice", "ok"]
    assert (database.ids(), proxy.swallowed, proxy.commits_seen) == ([2], 1, 5)


def test_a_trap_can_be_taken_away(database: Database, proxy: Proxy) -> None:
    proxy.swallow_commit()
    proxy.pass_commits()
    with closing(database.connect(at(proxy))) as connection:
        database.insert(connection, 1)
        connection.commit()
    assert database.ids() == [1]


def test_a_frozen_proxy_keeps_connections_but_passes_nothing(database: Database, proxy: Proxy) -> None:
    with closing(database.connect(at(proxy))) as connection, ThreadPoolExecutor() as threads:
        proxy.freeze(True)
        answer = threads.submit(_ask, connection, "SELECT 42")
        newcomer = threads.submit(database.connect, at(proxy))
        with pytest.raises(TimeoutError):
            answer.result(timeout=0.3)
        assert not newcomer.done()
        proxy.freeze(False)
        assert answer.result(timeout=10) == [(42,)]
        newcomer.result(timeout=10).close()


def test_cut_all_breaks_every_connection_once(database: Database, proxy: Proxy) -> None:
    connections = [database.connect(at(proxy)) for _ in range(3)]
    sessions = [database.session(connection) for connection in connections]
    proxy.cut_all()
    assert proxy.connections == 0
    for connection in connections:
        with closing(connection), pytest.raises(database.lost):
            _ask(connection, "SELECT 1")
    wait_until(lambda: not any(map(database.alive, sessions)), what="the server to give up the sessions")
    with closing(database.connect(at(proxy))) as connection:
        assert _ask(connection, "SELECT 1") == [(1,)]


def test_a_refusing_proxy_takes_no_new_connections(database: Database, proxy: Proxy) -> None:
    with closing(database.connect(at(proxy))) as connection:
        proxy.refuse(True)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(at(proxy), timeout=5)
        assert _ask(connection, "SELECT 1") == [(1,)]
        proxy.refuse(False)
        with closing(database.connect(at(proxy))) as another:
            assert _ask(another, "SELECT 1") == [(1,)]


def test_without_a_server_behind_it_the_proxy_resets(database: Database, proxy: Proxy) -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        proxy.upstream = nobody.getsockname()
    with pytest.raises(database.lost):
        database.connect(at(proxy))


def test_commits_of_the_extended_protocol_are_seen(postgres: Database, proxy: Proxy) -> None:
    with closing(postgres.connect(at(proxy))) as connection:
        postgres.insert(connection, 1)
        connection.execute("COMMIT", prepare=True)
        postgres.insert(connection, 2)
        proxy.swallow_commit()
        with pytest.raises(postgres.lost):
            connection.execute("COMMIT", prepare=True)
    assert (postgres.ids(), proxy.commits_seen) == ([1, 2], 2)


def test_commits_in_a_pipeline_are_seen(postgres: Database, proxy: Proxy) -> None:
    proxy.swallow_commit(which=2)

    def three_transactions() -> None:
        with closing(postgres.connect(at(proxy))) as connection, connection.pipeline():
            for id in (1, 2, 3):
                postgres.insert(connection, id)
                connection.commit()

    with pytest.raises(postgres.lost):
        three_transactions()
    # All was sent in one go, but what came behind the COMMIT got lost.
    assert (postgres.ids(), proxy.swallowed) == ([1, 2], 1)


def test_commits_within_a_simple_query_are_seen(postgres: Database, proxy: Proxy) -> None:
    proxy.swallow_commit()
    sql = f"begin; insert into {postgres.table} values (1); commit;"
    with closing(postgres.connect(at(proxy))) as connection, pytest.raises(postgres.lost):
        connection.execute(sql)
    assert (postgres.ids(), proxy.swallowed) == ([1], 1)


def copy_simply(connection: Any, table: str) -> None:
    with connection.cursor().copy(f"COPY {table} FROM STDIN") as copy:
        copy.write_row([1])


def copy_extended(connection: Any, table: str) -> None:
    libpq = connection.pgconn
    connection.execute("SELECT 1")  # which begins a transaction
    libpq.send_query_params(f"COPY {table} FROM STDIN".encode(), None)
    # Never by libpq's own waiting: it would hold the interpreter, and so the proxy.
    connection.wait(generators.execute(libpq))
    connection.wait(generators.copy_to(libpq, b"1\n"))
    connection.wait(generators.copy_end(libpq, None))


@pytest.mark.parametrize("copy", [copy_simply, copy_extended])
def test_a_copy_does_not_confuse_the_proxy(
    copy: Callable[[Any, str], None], postgres: Database, proxy: Proxy
) -> None:
    with closing(postgres.connect(at(proxy))) as connection:
        copy(connection, postgres.table)
        proxy.swallow_commit()
        with pytest.raises(postgres.lost):
            connection.commit()
    assert (postgres.ids(), proxy.swallowed) == ([1], 1)


def test_encryption_and_compression_are_declined(database: Database, proxy: Proxy) -> None:
    options = {"sslmode": "prefer", "gssencmode": "prefer"} if database.engine == "postgres" else {}
    with closing(database.connect(at(proxy), **options)) as connection:
        database.insert(connection, 1)
        connection.commit()
        if database.engine == "mysql":
            assert not connection.server_capabilities & 0x0820
    assert proxy.commits_seen == 1


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


@pytest.mark.parametrize(("ci", "outcome"), [("", pytest.skip), ("true", pytest.fail)])
def test_where_there_can_be_no_machines_that_is_said(
    ci: str, outcome: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("CI", ci)
    why_not.cache_clear()
    with pytest.raises(outcome.Exception, match=r"NOT TESTED: .* need"):
        require_namespaces()
    why_not.cache_clear()


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


def test_a_connection_outlives_a_short_cut(net: Net, echo: tuple[str, int]) -> None:
    machine = net.machine("a")
    talking = machine.popen(
        talk(echo, 30), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    talking.stdin.write("before\n")
    assert talking.stdout.readline() == "before\n"
    machine.cut()
    talking.stdin.write("meanwhile\n")
    assert not reaches(machine, echo, timeout=0.4)
    machine.join()
    assert talking.stdout.readline() == "meanwhile\n"


def test_signals_reach_what_runs_in_a_machine(net: Net) -> None:
    process = net.machine("a").popen(
        ["sh", "-c", "trap 'exit 7' TERM; echo on; while :; do read x; done"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout.readline() == b"on\n"
    process.terminate()
    assert process.wait(timeout=10) == 7


def test_a_machine_without_power_loses_everything_and_boots_again(net: Net) -> None:
    first, other = net.machine("a"), net.machine("b")
    # In a session of its own and without a parent: only the end of the machine can end it.
    nested = "setsid sh -c 'sleep 1000 & sleep 1000' & echo on; wait"
    dying = first.popen(["sh", "-c", nested], stdout=subprocess.PIPE)
    going_on = other.popen(["sleep", "1000"])
    assert dying.stdout.readline() == b"on\n"
    space = os.readlink(f"/proc/{dying.pid}/ns/pid")
    first.close()
    assert (dying.returncode, going_on.poll()) == (-signal.SIGKILL, None)
    assert processes_in(space) == []
    second = net.machine("a")
    assert second.run(["cat", "/proc/sys/kernel/random/boot_id"]).stdout.strip() == second.boot_id
    assert second.boot_id != first.boot_id


def test_a_closed_net_leaves_nothing_behind() -> None:
    require_namespaces()
    mounts = Path("/proc/self/mountinfo").read_text()
    net = Net()
    with closing(net):
        process = net.machine("a").popen(["sleep", "1000"])
        assert net.link in links()
        assert Path("/proc/self/mountinfo").read_text() == mounts
    assert process.returncode == -signal.SIGKILL
    assert net.link not in links()


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


def test_machines_reach_a_server_through_a_proxy(net: Net, database: Database) -> None:
    program = {
        "postgres": "import psycopg; c = psycopg.connect(host={0!r}, port={1}, user={2!r}, password={3!r},"
        " dbname={4!r}, sslmode='disable')",
        "mysql": "import pymysql; c = pymysql.connect(host={0!r}, port={1}, user={2!r}, password={3!r},"
        " database={4!r})",
    }[database.engine]
    with Proxy(upstream=database.address, protocol=database.engine, listen=net.server_address) as proxy:
        url = database.url
        program = program.format(*at(proxy), url.username, url.password or "", url.path.lstrip("/"))
        program += f"; c.cursor().execute('INSERT INTO {database.table} VALUES (1)'); c.commit(); c.close()"
        net.machine("a").run([sys.executable, "-c", program], check=True)
    assert database.ids() == [1]


def test_a_proxy_is_for_tests_alone() -> None:
    with pytest.raises(ValueError, match=r"0\.0\.0\.0"):
        Proxy(upstream=("127.0.0.1", 1), protocol="postgres", listen="0.0.0.0")

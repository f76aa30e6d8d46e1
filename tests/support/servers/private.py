"""PostgreSQL and MariaDB of our own: in a temporary directory, durable as in production, made to be killed.

That they never outlive the tests is left to keeper.py; where their programs are, to binaries.py.
"""

from __future__ import annotations

import ctypes
import shutil
import signal
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Self

import psycopg
import pymysql

from queuectl.testing import wait_until
from tests.support.servers import admin
from tests.support.servers.admin import connect_mysql
from tests.support.servers.binaries import installed, mariadb_programs, missing, postgres_folder
from tests.support.servers.places import fresh_on
from tests.support.servers.process import (
    KeptProcess,
    ServerFailed,
    free_port,
    give,
    make_directory,
    server_user,
)
from tests.support.servers.urls import host_in_url

_EVERYWHERE = {"*", "0.0.0.0", "::"}
_IPC_RMID = 0


class PrivateServer(ABC):
    """`with PrivatePostgres() as server:` starts it, and removes all of it at the end.

    listen: addresses, with commas between them; whoever reaches one of them is trusted.
    settings: of the server, beside or instead of ours; read again at every start.
    directory, until: for a server of the whole run, see found.py.
    """

    engine: ClassVar[str]
    user: ClassVar[str]
    # The way to end it that is quick, and leaves nothing behind but the data as after a crash.
    quick_end: ClassVar[signal.Signals]

    def __init__(
        self,
        *,
        listen: str = "127.0.0.1",
        settings: Mapping[str, object] | None = None,
        directory: Path | None = None,
        until: int = 0,
    ) -> None:
        self.require_programs()
        self.listen = listen
        self.settings = dict(settings or {})
        self.port = free_port(self._addresses)
        self._until = until
        self._user = server_user(self.user)
        self.directory = directory or make_directory(self.engine)
        give(self.directory, user=self._user)
        self.data = self.directory / "data"
        self._process: KeptProcess | None = None

    @classmethod
    def require_programs(cls) -> None:
        """Skip the test, or fail it in CI, where the server is not installed."""
        if not installed(cls.engine):
            missing(cls.engine)

    @property
    @abstractmethod
    def base_url(self) -> str:
        """The server, without a schema or database for a queue."""

    @property
    @abstractmethod
    def socket_url(self) -> str:
        """The same by way of its unix socket."""

    @abstractmethod
    def _make_data(self) -> None: ...

    @abstractmethod
    def _command(self) -> list[str]: ...

    @abstractmethod
    def _ask(self) -> None:
        """`SELECT 1`, by the socket: at the port someone else might answer."""

    @property
    def pid(self) -> int:
        assert self._process, "never started"
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.alive

    def fresh_url(self) -> str:
        """A fresh, empty place for a queue; it goes when the server goes."""
        return fresh_on(self.base_url)

    def start(self) -> None:
        """Start it, the first time with fresh data, and wait until it answers."""
        assert not self.alive, "it runs already"
        first = not self.data.exists()
        if first:
            self._make_data()
        for tries_left in (2, 1, 0):
            self._process = KeptProcess(
                self._command(),
                directory=self.directory,
                user=self._user,
                farewell=self.quick_end,
                until=self._until,
            )
            try:
                self.wait_ready()
                break
            except ServerFailed:
                # Another test may have been quicker to take the port. Later on clients know it.
                if not (first and tries_left and "Address already in use" in self._log()):
                    raise
                self.port = free_port(self._addresses)

    def wait_ready(self, timeout: float = 60) -> None:
        wait_until(
            lambda: not self.alive or self._answers(), timeout=timeout, what=f"{self.engine} to answer"
        )
        if not self.alive:
            raise ServerFailed(
                f"{self.engine} ended instead of answering. Its log says:\n{self._log()[-3000:]}"
            )

    def stop_immediate(self) -> None:
        """End it without a checkpoint: the next start has to recover."""
        if self._process:
            self._process.end(self.quick_end)

    def kill(self) -> None:
        """SIGKILL, also for its children."""
        if self._process:
            self._process.kill()

    def restart(self) -> None:
        self.stop_immediate()
        self.start()

    def close(self) -> None:
        """Stop it and remove its directory."""
        admin.forget(self.base_url)
        self.stop_immediate()
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _addresses(self) -> list[str]:
        return [address.strip() for address in self.listen.split(",")]

    @property
    def _place_in_url(self) -> str:
        first = self._addresses[0]
        return f"{host_in_url('127.0.0.1' if first in _EVERYWHERE else first)}:{self.port}"

    def _answers(self) -> bool:
        try:
            self._ask()
        except (psycopg.OperationalError, pymysql.err.OperationalError, OSError):
            return False
        return True

    def _log(self) -> str:
        log = self.directory / "server.log"
        return log.read_text(errors="replace") if log.exists() else ""

    def _run_once(self, command: list[str]) -> None:
        """Run a program that makes the data, with the rights and the environment of the server."""
        process = KeptProcess(
            command, directory=self.directory, user=self._user, farewell=signal.SIGKILL, until=self._until
        )
        if not process.succeeded(timeout=120):
            raise ServerFailed(f"{command[0]} failed. It says:\n{self._log()[-3000:]}")


class PrivatePostgres(PrivateServer):
    """Superuser `postgres`, database `postgres`."""

    engine = "postgres"
    user = "postgres"
    quick_end = signal.SIGQUIT

    @property
    def base_url(self) -> str:
        return f"postgresql://postgres@{self._place_in_url}/postgres"

    @property
    def socket_url(self) -> str:
        return f"postgresql://postgres@/postgres?host={self.directory}&port={self.port}"

    def close(self) -> None:
        self.stop_immediate()
        _free_shared_memory(self.data / "postmaster.pid")
        super().close()

    def _make_data(self) -> None:
        options = ("--no-sync", "--locale=C", "--encoding=UTF8", "--auth=trust", "--username=postgres")
        self._run_once([str(self._programs() / "initdb"), *options, "-D", str(self.data)])
        with open(self.data / "pg_hba.conf", "a", encoding="ascii") as rules:
            rules.write("host all all all trust\n")

    def _command(self) -> list[str]:
        settings = {
            "listen_addresses": self.listen,
            "port": self.port,
            "unix_socket_directories": self.directory,
            "fsync": "on",
            "synchronous_commit": "on",
            "full_page_writes": "on",
            "shared_buffers": "16MB",
            # In the data directory, not in /dev/shm, where a killed server would leave it behind.
            "dynamic_shared_memory_type": "mmap",
        } | self.settings
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        return [str(self._programs() / "postgres"), "-D", str(self.data), *options]

    def _ask(self) -> None:
        with psycopg.connect(self.socket_url, connect_timeout=5) as connection:
            connection.execute("SELECT 1")

    @staticmethod
    def _programs() -> Path:
        return postgres_folder() or missing("postgres")


class PrivateMariadb(PrivateServer):
    """User `root` without a password. Where only MySQL is installed, it is MySQL."""

    engine = "mysql"
    user = "mysql"
    quick_end = signal.SIGKILL

    @property
    def base_url(self) -> str:
        return f"mysql://root@{self._place_in_url}/"

    @property
    def socket_url(self) -> str:
        return f"mysql://root@localhost/?unix_socket={self.directory}/server.sock"

    def _make_data(self) -> None:
        # Run at every start: root from any address, not only from this machine.
        (self.directory / "init.sql").write_text(
            "CREATE USER IF NOT EXISTS 'root'@'%';\nGRANT ALL ON *.* TO 'root'@'%' WITH GRANT OPTION;\n"
        )
        programs = mariadb_programs() or missing("mysql")
        if programs.install:
            options = ("--auth-root-authentication-method=normal", "--skip-test-db")
            command = [str(programs.install), "--no-defaults", *options]
        else:
            command = [str(programs.server), "--no-defaults", "--initialize-insecure"]
        self._run_once([*command, *self._options({"innodb-log-file-size": "16M"})])

    def _command(self) -> list[str]:
        settings = {
            "socket": self.directory / "server.sock",
            "pid-file": self.directory / "server.pid",
            "port": self.port,
            "bind-address": self.listen,
            "init-file": self.directory / "init.sql",
            "skip-name-resolve": "ON",
            "innodb-flush-log-at-trx-commit": 1,
            "innodb-log-file-size": "16M",
            "innodb-buffer-pool-size": "32M",
            "performance-schema": "OFF",
            "loose-mysqlx": "OFF",  # MySQL only: a second port
        }
        programs = mariadb_programs() or missing("mysql")
        return [str(programs.server), "--no-defaults", *self._options(settings | self.settings)]

    def _options(self, settings: dict[str, object]) -> list[str]:
        places = {"datadir": self.data, "tmpdir": self.directory}
        return [f"--{name}={value}" for name, value in (places | settings).items()]

    def _ask(self) -> None:
        connection = connect_mysql(self.socket_url, read_timeout=5)
        with connection, connection.cursor() as cursor:
            cursor.execute("SELECT 1")


SERVERS: dict[str, type[PrivateServer]] = {"postgres": PrivatePostgres, "mysql": PrivateMariadb}


def _free_shared_memory(pid_file: Path) -> None:
    """A killed PostgreSQL leaves a segment of the system's behind, named in its pid file."""
    if pid_file.exists():
        lines = pid_file.read_text().splitlines()
        if len(lines) >= 7:
            segment = int(lines[6].split()[1])
            ctypes.CDLL(None).shmctl(segment, _IPC_RMID, None)

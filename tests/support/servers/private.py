"""PostgreSQL and MariaDB of our own: in a temporary directory, durable as in production, made to be killed.

How they live and die is left to lifecycle.py; where their programs are, to binaries.py.
"""

from __future__ import annotations

import ctypes
import signal
from pathlib import Path

import psycopg

from tests.support.servers.admin import connect_mysql
from tests.support.servers.binaries import mariadb_programs, postgres_folder
from tests.support.servers.lifecycle import PrivateServer
from tests.support.servers.missing import missing

_IPC_RMID = 0


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


def _free_shared_memory(pid_file: Path) -> None:
    """A killed PostgreSQL leaves a segment of the system's behind, named in its pid file."""
    if pid_file.exists():
        lines = pid_file.read_text().splitlines()
        if len(lines) >= 7:
            segment = int(lines[6].split()[1])
            ctypes.CDLL(None).shmctl(segment, _IPC_RMID, None)

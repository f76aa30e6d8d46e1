"""A server's schema, brought to any version by a process of its own, which may be killed on the way."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import queuectl.store.migrate
from queuectl.address import POSTGRES, Address
from queuectl.store.server_connection import ServerConnection
from queuectl.store.server_schema import prepare

SHIPPED = Path(queuectl.store.migrate.__file__).parent / "migrations"
ROOT = Path(__file__).parents[2]

_ALONE = f"import sys; from {__name__} import migrate; migrate(sys.argv[1], int(sys.argv[2]), sys.argv[3])"


def connect(url: str) -> ServerConnection:
    address = Address(url)
    driver: Any
    if address.engine == POSTGRES:
        from queuectl.store.postgres import PostgresDriver

        driver = PostgresDriver(address)
    else:
        from queuectl.store.mysql import MysqlDriver

        driver = MysqlDriver(address)
    return ServerConnection(driver, address.shown, busy_ms=10_000)


def migrate(url: str, latest: int, directory: str) -> None:
    connection = connect(url)
    try:
        prepare(connection, create=True, latest=latest, directory=directory)
    finally:
        connection.close()


def migrator(go: Callable[[], object], url: str, latest: int, directory: str) -> None:
    """Bring it forward at the same moment as others; a role of `tests.support.together`."""
    go()
    migrate(url, latest, directory)


def migrate_alone(url: str, latest: int, directory: str, failpoint: str) -> int:
    """In a process that dies at the failpoint; how it ended."""
    return subprocess.run(
        [sys.executable, "-c", _ALONE, url, str(latest), directory],
        env={
            **os.environ,
            "QUEUECTL_ENABLE_FAILPOINTS": "1",
            "QUEUECTL_FAILPOINT": f"{failpoint}=kill9",
        },
        cwd=ROOT,
        timeout=60,
        check=False,
    ).returncode


def future(directory: Path, engine: str, *scripts: str) -> str:
    """A directory of migrations: those that this engine has, and then these."""
    shutil.copytree(SHIPPED / engine, directory)
    for number, script in enumerate(scripts, len(list(directory.iterdir())) + 1):
        (directory / f"{number:04d}_future.sql").write_text(script)
    return str(directory)

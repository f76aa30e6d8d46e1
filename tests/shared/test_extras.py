"""A driver is loaded only when the address asks for it, and its lack is mended by one command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.engines import SERVERS, on_engines
from tests.support.home import Home

pytestmark = on_engines(*SERVERS, long=["mysql"])
RUN = (
    "import sys; sys.modules[{driver!r}] = None; "
    "from queuectl.cli.main import main; sys.exit(main(['status']))"
)
LOADED = (
    "import sys; from queuectl.cli.main import main; main(['enqueue', 'true']); "
    "print(*(name for name in ('psycopg', 'pymysql', 'apsw') if name in sys.modules))"
)


def python(home: Home, code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], env=home.env, capture_output=True, text=True, timeout=60, check=False
    )


def test_a_missing_driver_is_one_command_away(home: Home, store_url: str) -> None:
    driver, extra = ("psycopg", "postgres") if store_url.startswith("postgres") else ("pymysql", "mysql")
    result = python(home, RUN.format(driver=driver))
    assert result.returncode == 3
    assert f"pip install 'queuectl[{extra}]'" in result.stderr


def test_only_the_driver_of_the_address_is_loaded(home: Home, store_url: str) -> None:
    wanted = "psycopg" if store_url.startswith("postgres") else "pymysql"
    assert python(home, LOADED).stdout.split()[-1] == wanted


def test_the_address_may_stand_in_the_config_file(home: Home, store_url: str) -> None:
    del home.env["QUEUECTL_DB"]
    home.path.mkdir(mode=0o700)
    Path(home.path, "config.toml").write_text(f'db = "{store_url}"\nmax-retries = 1\n')
    home.ok("enqueue", "--id", "a", "true")
    assert not Path(home.path, "queue.db").exists()
    with home.queue() as queue:
        assert queue.get("a").max_retries == 1


@pytest.mark.parametrize("value", ["3", "[1]"])
def test_a_config_file_with_a_senseless_address_is_refused(home: Home, value: str) -> None:
    del home.env["QUEUECTL_DB"]
    home.path.mkdir(mode=0o700)
    Path(home.path, "config.toml").write_text(f"db = {value}\n")
    result = home.q("status")
    assert (result.returncode, "db must be text" in result.stderr) == (2, True)

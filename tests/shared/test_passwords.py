"""A password is in the address and nowhere else: no message, no log, no list of processes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.engines import SERVERS, on_engines
from tests.support.home import Home

from queuectl.address import Address

pytestmark = on_engines(*SERVERS, long=["mysql"])
SECRET = "s3cr%3At-Passw0rd"
PLAIN = "s3cr:t-Passw0rd"


def with_password(url: str) -> str:
    """Servers that trust us take any password; those that do not are not asked for this one."""
    user = Address(url).user
    assert user
    return url.replace(f"{user}@", f"{user}:{SECRET}@", 1)


def traces(home: Home) -> str:
    """All that others could see: command lines of our processes, and every file of the home."""
    found = []
    for pid in home.pids():
        found.append(Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace"))
    for directory, _, names in os.walk(home.path):
        for name in names:
            path = Path(directory, name)
            if path.is_file():
                found.append(str(path) + path.read_bytes().decode(errors="replace"))
    return "\n".join(found)


def test_nobody_sees_it_while_all_goes_well(
    home: Home, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if store_url.startswith("mysql"):
        # Root here has no password, so it comes from the environment, as it may.
        home.env["MYSQL_PWD"] = ""
        address = store_url
    else:
        address = with_password(store_url)
    home.env["QUEUECTL_DB"] = address
    said = home.ok("enqueue", "--id", "a", "echo hello")
    home.start(count=2)
    home.ok("wait", "a")
    for words in (("status",), ("list", "--json"), ("worker", "list", "--json"), ("init",), ("config",)):
        said += home.ok(*words)
    seen = said + traces(home)
    assert "Passw0rd" not in seen
    assert "servers/" in seen


@pytest.mark.parametrize(
    "words",
    [
        ("worker", "start"),
        *(
            pytest.param(words, marks=pytest.mark.long)
            for words in (("status",), ("enqueue", "true"), ("init", "--json"), ("copy", "--to", "x.db"))
        ),
    ],
)
def test_nobody_sees_it_when_the_server_is_not_there(
    home: Home, store_url: str, words: tuple[str, ...]
) -> None:
    scheme = store_url.partition("://")[0]
    result = home.q(
        *words, env={"QUEUECTL_DB": f"{scheme}://me:{SECRET}@127.0.0.1:1/db", "QUEUECTL_DEBUG": "1"}
    )
    assert result.returncode == 3
    assert "127.0.0.1:1/db" in result.stderr
    assert "Passw0rd" not in result.stdout + result.stderr


def test_a_password_that_should_have_been_encoded_is_not_repeated(home: Home, store_url: str) -> None:
    scheme = store_url.partition("://")[0]
    result = home.q("status", env={"QUEUECTL_DB": f"{scheme}://me:hidden/word#1@127.0.0.1/db"})
    assert result.returncode == 2
    assert "hidden" not in result.stdout + result.stderr
    assert "%-codes" in result.stderr


@pytest.mark.parametrize(
    "rest",
    [
        "127.0.0.1:x/db",
        *(
            pytest.param(rest, marks=pytest.mark.long)
            for rest in ("127.0.0.1:99999/db", "[::1/db", "127.0.0.1/db?a")
        ),
    ],
)
def test_nobody_sees_it_when_the_address_makes_no_sense(home: Home, store_url: str, rest: str) -> None:
    scheme = store_url.partition("://")[0]
    result = home.q("status", env={"QUEUECTL_DB": f"{scheme}://me:{SECRET}@{rest}"})
    assert result.returncode == 2
    assert "Passw0rd" not in result.stdout + result.stderr
    assert "hint:" in result.stderr

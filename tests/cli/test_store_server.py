"""The store on a server, from the command line: places that cannot be one, servers that are not there."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from tests.support.cli import Cli, assert_store_error
from tests.support.engines import SERVERS, on_engines
from tests.support.servers.urls import engine_of, split_schema
from tests.support.sql import ask, tables

pytestmark = on_engines(*SERVERS)
SCHEMES = {"postgres": "postgresql", "mysql": "mysql"}


def test_the_tables_of_another_program_are_left_alone(cli: Cli, home_dir: Path, store_url: str) -> None:
    if engine_of(store_url) == "postgres":
        ask(store_url, f"CREATE SCHEMA {split_schema(store_url)[1]}")
    ask(store_url, "CREATE TABLE jobs (title VARCHAR(20))")
    ask(store_url, "INSERT INTO jobs VALUES ('plumber')")

    assert_store_error(cli("list"), "holds tables of another program")

    assert tables(store_url) == {"jobs"}
    assert ask(store_url, "SELECT * FROM jobs") == [("plumber",)]
    assert not home_dir.exists()


def test_a_store_of_a_newer_version_is_left_alone(cli: Cli, store_url: str) -> None:
    assert cli("enqueue", "--id", "old", "echo hi").code == 0
    ask(store_url, "UPDATE queuectl_schema SET version = 99")

    assert_store_error(cli("enqueue", "--id", "new", "echo hi"), "was written by a newer queuectl")

    assert ask(store_url, "SELECT id FROM jobs") == [("old",)]


def test_a_server_that_is_not_there(cli: Cli, store_url: str, home_dir: Path) -> None:
    """And nobody learns the password from what we say about it."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # taken, but it does not listen
        port = nobody.getsockname()[1]
        url = f"{SCHEMES[engine_of(store_url)]}://me:hush@127.0.0.1:{port}/db"
        result = cli("--db", url, "enqueue", "true")

    assert result.code == 3
    assert f"me@127.0.0.1:{port}/db" in result.err
    assert "hush" not in result.out + result.err
    assert "Traceback" not in result.err
    assert not home_dir.exists()


@pytest.mark.parametrize(
    ("rest", "says"),
    [
        ("://me@127.0.0.1:port/db", "the database address is not valid"),
        ("://me:p@ss:w/rd@127.0.0.1/db", "the database address is not valid"),
        ("://me@127.0.0.1/db?option", "the database address is not valid"),
        ("://me@127.0.0.1/db?schema=a;b", "schema name 'a;b' is not allowed"),
    ],
)
def test_an_address_that_is_none(cli: Cli, store_url: str, home_dir: Path, rest: str, says: str) -> None:
    result = cli("--db", SCHEMES[engine_of(store_url)] + rest, "list")

    assert result.code == 2
    assert says in result.err
    assert "w/rd" not in result.err
    assert not home_dir.exists()

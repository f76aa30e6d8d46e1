"""Addresses of servers: taken apart, shown without secrets, one place for every way to name it."""

from __future__ import annotations

import pytest

from queuectl.address import Address, is_server
from queuectl.errors import InvalidInput


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:pw@h:5433/work", "postgresql://me@h:5433/work"),
        ("postgres://h/work?schema=a&password=pw", "postgresql://h/work?schema=a"),
        ("postgresql:///work?host=/run/pg&sslpassword=pw", "postgresql:///work?host=/run/pg"),
        ("mariadb://me:p%40w@h/work", "mysql://me@h/work"),
        ("mysql://me:pw@[::1]:3307/work?ssl=1", "mysql://me@[::1]:3307/work?ssl=1"),
    ],
)
def test_what_is_shown_holds_no_password(url: str, shown: str) -> None:
    assert Address(url).shown == shown


def test_the_parts_are_decoded() -> None:
    address = Address("mysql://m%40e:p%3Aw%2F@h:1/w%20x?unix_socket=/a/b")
    assert (address.user, address.password, address.host, address.port) == ("m@e", "p:w/", "h", 1)
    assert (address.database, address.options) == ("w x", {"unix_socket": "/a/b"})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("postgresql://me:pw@h/work", "postgres://you@h:5432/work?schema=queuectl"),
        ("mysql://me@h/work", "mariadb://h:3306/work"),
        ("postgresql:///w?host=/run/pg&port=5433", "postgresql://me@/w?port=5433&host=/run/pg"),
    ],
)
def test_the_same_store_has_one_place_however_it_is_named(one: str, other: str) -> None:
    assert Address(one).place == Address(other).place


@pytest.mark.parametrize(
    "other",
    ["postgresql://h/work2", "postgresql://h2/work", "postgresql://h:1/work", "postgresql://h/work?schema=b"],
)
def test_another_store_has_another_place(other: str) -> None:
    assert Address(other).place != Address("postgresql://h/work").place


@pytest.mark.parametrize("url", ["mysql://h", "mysql://h/", "postgresql://h/db?schema=a;b", "mysql://h:x/db"])
def test_what_makes_no_sense_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput):
        Address(url)


def test_a_path_is_no_server() -> None:
    assert [is_server(u) for u in ("postgres://x", "MySQL://x", "sqlite:///x", "/a/b", "postgres")] == [
        *(True, True, False, False, False)
    ]

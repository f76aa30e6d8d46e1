"""Which tests `make test` leaves to CI and `make test-long`, so that it stays within minutes.

The contract of the store (tests/conformance) and every crash run on every engine, always. What stands above
the store sees engines through that contract only: there SQLite and PostgreSQL are enough for every day.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

_ABOVE_THE_STORE = ("cli", "doctor", "shared", "transfer", "web")
_LEFT_OUT = "mysql"


def mark_long(items: Iterable[pytest.Item]) -> None:
    for item in items:
        parameters = getattr(item, "callspec", None)
        suite = item.nodeid.split("/")[1]
        if suite in _ABOVE_THE_STORE and parameters is not None and _LEFT_OUT in parameters.id.split("-"):
            item.add_marker("long")

"""Database servers for tests: found, or made, and fresh places for queues on them.

`fresh_url("postgres")` gives a URL for a queue, `drop(url)` ends it.
`PrivatePostgres` and `PrivateMariadb` are servers that a test may kill.
"""

from __future__ import annotations

from tests.support.servers.places import drop, fresh_url
from tests.support.servers.private import SERVERS, PrivateMariadb, PrivatePostgres, PrivateServer

__all__ = ["SERVERS", "PrivateMariadb", "PrivatePostgres", "PrivateServer", "drop", "fresh_url"]

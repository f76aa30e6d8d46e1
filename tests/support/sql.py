"""What somebody else sees and does in a queue's place on a server, by the engine's own means."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any

import psycopg

from tests.support.servers import admin
from tests.support.servers.urls import engine_of, split_database, split_schema

Rows = Sequence[tuple[Any, ...]]


def ask(url: str, sql: str) -> Rows:
    """Execute it there; what it returns, if that is rows."""
    if engine_of(url) == "postgres":
        server, schema = split_schema(url)
        with psycopg.connect(server, autocommit=True, options=f"-c search_path={schema}") as connection:
            result = connection.execute(sql)
            return result.fetchall() if result.description else []
    server, database = split_database(url)
    connection_ = admin.connect_mysql(server, database=database, autocommit=True)
    with closing(connection_), connection_.cursor() as cursor:
        cursor.execute(sql)
        return list(cursor.fetchall())


def tables(url: str) -> set[str]:
    """The tables in the place; none if it is empty."""
    sql = "SELECT table_name FROM information_schema.tables WHERE table_schema = %s"
    if engine_of(url) == "postgres":
        server, schema = split_schema(url)
        return {name for (name,) in admin.postgres(server).execute(sql, (schema,))}
    server, database = split_database(url)
    with admin.mysql(server).cursor() as cursor:
        cursor.execute(sql, (database,))
        return {name for (name,) in cursor.fetchall()}

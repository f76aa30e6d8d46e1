"""A store of an earlier version comes forward with its jobs counted."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.migration.places import ask, connect, first_job
from tests.migration.places import migrate as migrate_file
from tests.migration.servers import SHIPPED, migrate
from tests.support.engines import Place, engines, fresh_store
from tests.support.sql import ask as ask_server

from queuectl.store.tallies import totals, wrong

JOBS = {
    "a": ("mail", "pending"),
    "b": ("mail", "completed"),
    "c": ("post", "completed"),
    "d": ("mail", "pending"),
}


@pytest.mark.parametrize("engine", engines(long=["mysql"]))
@pytest.mark.parametrize("version", [1, 2])
def test_what_is_there_is_counted(tmp_path: Path, engine: str, version: int) -> None:
    statements = []
    for name, (queue, state) in JOBS.items():
        statements += [
            first_job(name),
            f"UPDATE jobs SET queue = '{queue}', state = '{state}' WHERE id = '{name}'",
        ]
    with fresh_store(engine) as url:
        place = Place(str(tmp_path), url)
        if url is None:
            file = tmp_path / "queue.db"
            file.touch(mode=0o600)
            connection = connect(file)
            migrate_file(connection, latest=version)
            connection.close()
            for statement in statements:
                ask(file, statement)
        else:
            migrate(url, version, str(SHIPPED / engine))
            for statement in statements:
                ask_server(url, statement)
        store = place.open(create=False)
        db = store.connection  # type: ignore[attr-defined]
        assert totals(db) == {"mail": {"completed": 1, "pending": 2}, "post": {"completed": 1}}
        assert list(wrong(db)) == []
        store.close()

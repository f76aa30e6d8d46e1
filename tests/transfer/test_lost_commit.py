"""The server is lost right after a commit: what was stored is found, and not stored again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pymysql
import pytest
from tests.transfer.conftest import Cli
from tests.transfer.places import Places, everything, opened
from tests.transfer.rows import fill

from queuectl.app import living_workers
from queuectl.core.tables import JOBS
from queuectl.transfer.load import check_file, load

ERRORS: dict[str, Exception] = {
    "postgres": psycopg.OperationalError("server closed the connection unexpectedly"),
    "mysql": pymysql.err.OperationalError(2013, "Lost connection to MySQL server during query"),
}


def quiet(*_: object) -> None:
    pass


def lose_the_answer(store: Any, error: Exception, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The next commit takes effect, but the wire is cut before anybody hears of it."""
    driver, commit, lost = store.connection.driver, store.connection.driver.commit, []

    def cut(*counts: object) -> None:
        commit(*counts)
        if not lost:
            lost.append(1)
            driver.close()
            raise error

    monkeypatch.setattr(driver, "commit", cut)
    return lost


@pytest.mark.parametrize("engine", sorted(ERRORS))
def test_a_chunk_is_stored_once(engine: str, place: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = place("sqlite"), place(engine)
    fill(here)
    with opened(here) as source, opened(there) as target:
        lost = lose_the_answer(target, ERRORS[engine], monkeypatch)
        for rows in source.transfer().chunks(JOBS):
            target.transfer().put(JOBS, rows)
        assert lost
        assert target.transfer().count(JOBS) == 300


@pytest.mark.parametrize("engine", sorted(ERRORS))
def test_an_import_is_stored_once(
    engine: str, place: Places, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = place("sqlite"), place(engine)
    fill(here)
    cli("--db", here, "export", str(tmp_path / "file"))
    with open(tmp_path / "file", "rb") as file, opened(there) as target:
        found = check_file(file, edited=False, parse=dict, progress=quiet)
        lost = lose_the_answer(target, ERRORS[engine], monkeypatch)
        load(found, target, living=living_workers, progress=quiet)
        assert lost
    assert everything(there) == everything(here)

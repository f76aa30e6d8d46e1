"""The server is lost right after a commit: what was stored is found, and not stored again."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.cli import Cli
from tests.support.engines import SERVERS, engines
from tests.support.proxy import Proxy
from tests.transfer.places import Places, everything, opened
from tests.transfer.rows import fill

from queuectl.app import living_workers
from queuectl.core.tables import JOBS
from queuectl.transfer.load import check_file, load


def quiet(*_: object) -> None:
    pass


@pytest.mark.parametrize("engine", engines(*SERVERS, long=["mysql"]))
def test_a_chunk_is_stored_once(engine: str, place: Places) -> None:
    here, there = place("sqlite"), place(engine)
    fill(here)
    with Proxy.before(there) as proxy, opened(here) as source, opened(proxy.way(there)) as target:
        proxy.swallow_commit()
        for rows in source.transfer().chunks(JOBS):
            target.transfer().put(JOBS, rows)
        assert proxy.swallowed == 1
        assert target.transfer().count(JOBS) == 300


@pytest.mark.parametrize("engine", engines(*SERVERS, long=["mysql"]))
def test_an_import_is_stored_once(engine: str, place: Places, cli: Cli, tmp_path: Path) -> None:
    here, there = place("sqlite"), place(engine)
    fill(here)
    cli.ok("--db", here, "export", str(tmp_path / "file"))
    with (
        Proxy.before(there) as proxy,
        open(tmp_path / "file", "rb") as file,
        opened(proxy.way(there)) as target,
    ):
        found = check_file(file, edited=False, parse=dict, progress=quiet)
        proxy.swallow_commit()
        load(found, target, living=living_workers, progress=quiet)
        assert proxy.swallowed == 1
    assert everything(there) == everything(here)

"""A queue that somebody works on is not moved, nor one onto another."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from urllib.parse import urlsplit

import pytest
from tests.support.cli import Cli
from tests.support.engines import engines
from tests.support.fake_worker import FakeWorker
from tests.support.jobs import NOW
from tests.transfer.places import Places, everything, insert, rows
from tests.transfer.rows import fill, job

from queuectl.queue import Queue


@pytest.fixture(params=engines(long=["mysql"]))
def busy(request: pytest.FixtureRequest, place: Places) -> Iterator[Queue]:
    """A queue with jobs, on each engine."""
    url = place(request.param)
    insert(url, "jobs", job(1), job(2))
    with Queue.open(url) as queue:
        yield queue


def test_not_while_a_worker_lives_on_the_source(busy: Queue, cli: Cli, tmp_path: Path) -> None:
    here = busy.store.location.url
    workers = [FakeWorker(busy), FakeWorker(busy)]
    target = tmp_path / "never.db"
    said = cli("--db", here, "copy", "--to", str(target), code=4).err
    assert "2 workers are active on the source" in said
    assert f"queuectl --db {quote(busy.store.location.shown)} worker stop" in said
    assert not target.exists()
    assert "active on this queue" in cli("--db", here, "export", str(target), code=4).err
    assert not target.exists()
    for worker in workers:
        worker.leave()
    cli.ok("--db", here, "copy", "--to", str(target))


def test_not_while_a_job_is_processing(busy: Queue, cli: Cli, tmp_path: Path) -> None:
    here = busy.store.location.url
    FakeWorker(busy, alive=False).claim("j1")
    said = cli("--db", here, "copy", "--to", str(tmp_path / "never.db"), code=4).err
    assert "a job is still processing on the source" in said
    assert "worker stop frees" in said
    assert "a job is still processing" in cli("--db", here, "export", code=4).err


def test_not_while_a_worker_lives_on_the_target(place: Places, cli: Cli, tmp_path: Path) -> None:
    here, there = place("sqlite"), place("postgres")
    fill(here, 4)
    cli.ok("--db", here, "export", str(tmp_path / "file"))
    with Queue.open(there) as queue:
        FakeWorker(queue)
        said = cli("--db", here, "copy", "--to", there, code=4).err
        assert "a worker is active on the target" in said
        assert f"queuectl --db {quote(queue.store.location.shown)} worker stop" in said
        assert (
            "a worker is active on the target"
            in cli("--db", there, "import", str(tmp_path / "file"), code=4).err
        )
    assert rows(there) == {"jobs": 0, "attempts": 0, "config": 0}


@pytest.mark.parametrize("engine", engines(long=["mysql"]))
def test_not_into_a_queue_that_has_something(engine: str, place: Places, cli: Cli, tmp_path: Path) -> None:
    here, there = place("sqlite"), place(engine)
    fill(here, 4)
    cli.ok("--db", here, "export", file := str(tmp_path / "file"))
    insert(there, "config", {"key": "max-retries", "value": "9", "updated_at": NOW})
    before = everything(there)
    assert "is not empty: it has 1 setting" in cli("--db", here, "copy", "--to", there, code=4).err
    assert "is not empty: it has 1 setting" in cli("--db", there, "import", file, code=4).err
    insert(there, "jobs", job(1))
    assert "it has 1 job, 1 setting" in cli("--db", here, "copy", "--to", there, code=4).err
    assert "it has 1 job, 1 setting" in cli("--db", there, "import", file, code=4).err
    assert everything(there)[-1] == before[-1]


def test_not_onto_itself(place: Places, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = place("sqlite")
    fill(here, 4)
    (tmp_path / "link.db").symlink_to(here)
    monkeypatch.chdir(tmp_path)
    for name in (here, f"sqlite://{here}", os.path.basename(here), "link.db"):
        for words in ([], ["--resume"]):
            assert (
                "source and target are the same queue"
                in cli("--db", here, "copy", "--to", name, *words, code=4).err
            )


def test_not_onto_itself_by_a_hard_link(place: Places, cli: Cli, tmp_path: Path) -> None:
    here = place("sqlite")
    fill(here, 4)
    os.link(here, tmp_path / "hard.db")
    assert "the same queue" in cli("--db", here, "copy", "--to", str(tmp_path / "hard.db"), code=4).err


@pytest.mark.parametrize("jobs", [0, 4])
def test_not_onto_itself_on_a_server_by_another_address(jobs: int, place: Places, cli: Cli) -> None:
    here = place("postgres")
    parts = urlsplit(here)
    alias = parts._replace(path="/", query=f"{parts.query}&dbname={parts.path.strip('/')}").geturl()
    cli.ok("--db", here, "init")
    if jobs:
        fill(here, jobs)
    before = everything(here)
    assert "the same queue" in cli("--db", here, "copy", "--to", here, code=4).err
    assert "the same queue" in cli("--db", here, "copy", "--to", alias, "--resume", code=4).err
    assert everything(here) == before
    cli.ok("--db", here, "list")

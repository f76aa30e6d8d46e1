"""C10, C18: an id or a name is never a path, whether it is typed, sent, imported, or found in the store."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from queuectl.core.outcome import SUCCEEDED
from queuectl.logfiles import LogReader, delete_log, log_name, segments
from queuectl.upkeep.rescuer import rescue
from tests.attacks.pseudo_terminal import on_a_terminal
from tests.attacks.traversals import PAYLOADS, STORED
from tests.support.dashboard import Server
from tests.support.fake_worker import FakeWorker, out
from tests.support.home import Home
from tests.web.attack import count_jobs, serving


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("traversal")) as server:
        yield server


def everything(directory: Path) -> set[str]:
    return {os.path.join(place, name) for place, _, names in os.walk(directory) for name in names}


def test_there_are_enough_of_them() -> None:
    assert len(set(PAYLOADS)) >= 60


def test_none_can_be_typed_as_an_id(unchecked_home: Home, tmp_path: Path) -> None:
    unchecked_home.ok("init")
    before = everything(tmp_path)
    refused = [["enqueue", f"--id={payload}", "true"] for payload in PAYLOADS]
    verbs = ("show", "logs", "rm", "cancel")
    typed = [payload for payload in PAYLOADS if payload != "-"]  # which is stdin
    unknown = [[verb, "--", payload] for payload in typed for verb in verbs]
    for words, (code, said) in zip(refused, on_a_terminal(unchecked_home, refused), strict=True):
        assert (code, b"is not allowed" in said) == (2, True), (words, said)
    for words, (code, said) in zip(unknown, on_a_terminal(unchecked_home, unknown), strict=True):
        assert code in (1, 2), (words, code, said)
        assert b"root:" not in said, (words, said)
    assert unchecked_home.ok("list", "--quiet") == ""
    assert {
        path for path in everything(tmp_path) - before if "-wal" not in path and "-shm" not in path
    } == set()


@pytest.mark.parametrize("field", ["queue", "group"])
def test_names_of_other_things_make_no_path_either(unchecked_home: Home, tmp_path: Path, field: str) -> None:
    """Some of these may be called so; then it is a name and nothing else."""
    commands = [["enqueue", f"--{field}={payload}", "true"] for payload in PAYLOADS]
    unchecked_home.ok("init")
    before = everything(tmp_path)
    for words, (code, said) in zip(commands, on_a_terminal(unchecked_home, commands), strict=True):
        assert code in (0, 2), (words, said)
    made = {path for path in everything(tmp_path) - before if not path.endswith(("-wal", "-shm"))}
    assert made == set()


def test_none_can_be_sent(dashboard: Server) -> None:
    before = count_jobs(dashboard)
    with dashboard.client() as client:
        for payload in STORED:
            answer = client.post("/api/v1/jobs", json={"id": payload, "command": "true"})
            assert answer.status_code == 422, (payload, answer.text)
            answer = client.post("/api/v1/jobs", json={"command": "true", "depends_on": [payload]})
            assert answer.status_code in (404, 422), (payload, answer.text)
            path = "".join(f"%{byte:02x}" for byte in payload.encode())
            answer = client.get(f"/api/v1/jobs/{path}/output")
            # What a client cuts out of the path itself leads to another page of ours.
            assert answer.status_code in (307, 404, 405, 422), (payload, answer.text)
            assert "root:" not in answer.text
    assert count_jobs(dashboard) == before


class TestFoundInTheStore:
    """Whoever can write to it can run commands; but reading and deleting do what they say and no more."""

    @pytest.fixture
    def victim(self, tmp_path: Path) -> Path:
        """Beside the home, where `../../…` leads to from a directory of logs."""
        path = tmp_path / "home" / "victim.log"
        path.parent.mkdir(mode=0o700, exist_ok=True)
        path.write_bytes(out(b"canary of somebody else"))
        return path

    @pytest.mark.parametrize(
        "shape", ["../victim.log", "00/../../victim.log", "{absolute}", "../logs/../victim.log"]
    )
    def test_a_log_elsewhere_is_neither_shown_nor_deleted(
        self, unchecked_home: Home, victim: Path, shape: str
    ) -> None:
        with unchecked_home.queue() as queue:
            fake_worker = FakeWorker(queue)
            queue.enqueue("true", id="a")
            job = fake_worker.claim("a")
            fake_worker.end(job, SUCCEEDED, log=log_name(job.seq, job.runs), output_bytes=90)
            (unchecked_home.path / "logs" / "00").mkdir(parents=True)
            fake_worker.leave()
        with closing(sqlite3.connect(unchecked_home.path / "queue.db")) as db:
            db.execute("UPDATE attempts SET log = ?", (shape.format(absolute=victim),))
            db.commit()

        shown = on_a_terminal(unchecked_home, [["logs", "a"], ["show", "a"], ["rm", "a"]])

        assert all(b"canary" not in said for _, said in shown)
        assert [code for code, _ in shown] == [0, 0, 0]
        assert victim.exists()

    def test_such_a_name_is_no_log(self, tmp_path: Path) -> None:
        for name in STORED:
            assert segments(str(tmp_path), name) == []
            assert list(LogReader(str(tmp_path), name).read()) == []
            delete_log(str(tmp_path), name)

    @pytest.mark.parametrize("id", ["../victim", "../../home/victim", "{absolute}", "x" * 3_000, "a\0b", ""])
    def test_a_worker_of_such_a_name_is_buried_and_nothing_else(
        self, unchecked_home: Home, tmp_path: Path, id: str
    ) -> None:
        bait = [tmp_path / "home" / f"victim{suffix}" for suffix in (".bell", ".ledger")]
        with unchecked_home.queue() as queue:
            fake_worker = FakeWorker(queue)
            queue.enqueue("true", id="a")
            fake_worker.claim("a")
            for path in bait:
                path.write_text("precious")
            (tmp_path / "home" / "run").mkdir(mode=0o700, exist_ok=True)
            name = id.format(absolute=tmp_path / "home" / "victim")
            with closing(sqlite3.connect(unchecked_home.path / "queue.db")) as db:
                db.execute("UPDATE workers SET id = ?, state = 'dead'", (name,))
                db.execute("UPDATE jobs SET worker_id = ?", (name,))
                db.commit()

            rescue(queue.store, queue.settings, queue.clock.now())

            assert queue.store.workers() == []
            assert queue.get("a").state == "pending"
        assert all(path.read_text() == "precious" for path in bait)

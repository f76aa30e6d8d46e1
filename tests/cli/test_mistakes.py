"""Every mistake of the tables: the exit code, the words, and a store that stays as it was."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.mistake import Mistake
from tests.cli.mistakes_in_conditions import IN_CONDITIONS
from tests.cli.mistakes_in_jobs import IN_JOBS
from tests.cli.mistakes_in_use import IN_USE
from tests.support.cli import Cli, Result
from tests.support.fake_worker import FakeWorker

from queuectl.queue import Queue

CASES = [*IN_JOBS, *IN_USE, *IN_CONDITIONS]
TABLES = (
    "jobs",
    "attempts",
    "workers",
    "config",
    "dependencies",
    "unsettled",
    "queues",
    "job_groups",
    "schedules",
)


@pytest.fixture(scope="module")
def furnished_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a job in every state. All cases share it: each shows that it left it as it was."""
    path = tmp_path_factory.mktemp("furnished") / "home"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("QUEUECTL_HOME", str(path))
        with Queue.open() as queue:
            FakeWorker(queue).add_jobs_in_every_state()
    return path


@pytest.fixture
def furnished(furnished_dir: Path, home_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Queue]:
    monkeypatch.setenv("QUEUECTL_HOME", str(furnished_dir))
    with Queue.open() as queue:
        yield queue


def dump(queue: Queue) -> dict[str, object]:
    """Everything that the store holds."""
    db = queue.store.connection  # type: ignore[attr-defined]
    return {name: db.all(f"SELECT * FROM {name} ORDER BY 1") for name in TABLES}


def put(case: Mistake, directory: Path) -> None:
    for name, content in case.files.items():
        (directory / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def assert_told(result: Result, case: Mistake) -> None:
    assert result.code == case.code, result.err
    assert "Traceback" not in result.err
    assert "internal error" not in result.err
    first, *rest = result.err.splitlines()
    assert first.startswith("error: ")
    assert case.says in first
    assert case.hint in "\n".join(rest)
    assert len(rest) <= 1
    assert result.out == ""


def assert_told_in_json(result: Result, case: Mistake) -> None:
    assert result.code == case.code
    assert result.out == ""
    error = json.loads(result.err)["error"]
    assert set(error) == {"code", "message", "hint"}
    assert error["code"] == case.kind
    assert case.says in error["message"]
    assert case.hint in (error["hint"] or "")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_mistake_is_named_and_nothing_is_written(
    case: Mistake, furnished: Queue, cli: Cli, work_dir: Path
) -> None:
    put(case, work_dir)
    before = dump(furnished)

    assert_told(cli(*case.words), case)
    assert_told_in_json(cli("--json", *case.words), case)

    assert dump(furnished) == before


@pytest.mark.parametrize("case", [c for c in CASES if c.early], ids=lambda case: case.name)
def test_what_is_wrong_by_itself_makes_no_store(
    case: Mistake, cli: Cli, home_dir: Path, work_dir: Path
) -> None:
    put(case, work_dir)

    assert cli(*case.words).code == case.code

    assert not home_dir.exists()


def test_there_are_enough_cases_and_each_is_another() -> None:
    assert len(CASES) >= 300
    assert len({(case.words, repr(case.files)) for case in CASES}) == len(CASES)

"""Every mistake of the tables: the exit code, the words, and a store that stays as it was."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.cli.conftest import Cli, Result
from tests.cli.mistake import Mistake
from tests.cli.mistakes_in_conditions import IN_CONDITIONS
from tests.cli.mistakes_in_jobs import IN_JOBS
from tests.cli.mistakes_in_use import IN_USE
from tests.support.engines import ENGINES, fresh_store
from tests.support.fake_worker import FakeWorker
from tests.support.sql import tables

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


@pytest.fixture
def store_url() -> None:
    """`furnished` and `empty` lead to the stores of this module; each is there for many mistakes."""


@dataclass(frozen=True)
class Shop:
    home_dir: str
    url: str | None
    queue: Queue

    def enter(self, patch: pytest.MonkeyPatch) -> None:
        patch.setenv("QUEUECTL_HOME", self.home)
        if self.url:
            patch.setenv("QUEUECTL_DB", self.url)


@pytest.fixture(scope="module", params=ENGINES)
def shop(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """One store with a job in every state. All can share it, as each shows that it has left it as it was."""
    home_dir = str(tmp_path_factory.mktemp("shop") / "home")
    with fresh_store(request.param) as url:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("QUEUECTL_HOME", home_dir)
            queue = Queue.open(url)
        with queue:
            FakeWorker(queue).furnish()
            yield Shop(home_dir, url, queue)


@pytest.fixture
def furnished(shop: Shop, home_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Queue:
    shop.enter(monkeypatch)
    return shop.queue


@pytest.fixture(scope="module", params=ENGINES)
def vacancy(request: pytest.FixtureRequest) -> Iterator[str | None]:
    with fresh_store(request.param) as url:
        yield url


@pytest.fixture
def empty(vacancy: str | None, home_dir: Path, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """A place where there is nothing, and must be nothing afterwards."""
    if vacancy:
        monkeypatch.setenv("QUEUECTL_DB", vacancy)
    return vacancy


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


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_mistake_is_named_and_nothing_is_written(
    case: Mistake, furnished: Queue, cli: Cli, elsewhere: Path
) -> None:
    put(case, elsewhere)
    before = dump(furnished)

    assert_told(cli(*case.words), case)

    assert dump(furnished) == before


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_with_json_the_error_is_one_object_on_stderr(
    case: Mistake, furnished: Queue, cli: Cli, elsewhere: Path
) -> None:
    put(case, elsewhere)
    before = dump(furnished)

    result = cli("--json", *case.words)

    assert result.code == case.code
    assert result.out == ""
    error = json.loads(result.err)["error"]
    assert set(error) == {"code", "message", "hint"}
    assert error["code"] == case.kind
    assert case.says in error["message"]
    assert case.hint in (error["hint"] or "")
    assert dump(furnished) == before


@pytest.mark.parametrize("case", [c for c in CASES if c.early], ids=lambda case: case.name)
def test_what_is_wrong_by_itself_makes_no_store(
    case: Mistake, cli: Cli, home_dir: Path, empty: str | None, elsewhere: Path
) -> None:
    put(case, elsewhere)

    assert cli(*case.words).code == case.code

    assert not home_dir.exists()
    assert not empty or not tables(empty)


def test_there_are_enough_cases_and_each_is_another() -> None:
    assert len(CASES) >= 300
    assert len({(case.words, repr(case.files)) for case in CASES}) == len(CASES)

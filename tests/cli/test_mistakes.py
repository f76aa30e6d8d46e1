"""Every mistake of the tables: exit code, code of the error, words, and a store that stays as it was."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.mistake import Mistake
from tests.cli.mistakes_in_conditions import IN_CONDITIONS
from tests.cli.mistakes_in_jobs import IN_JOBS
from tests.cli.mistakes_in_use import IN_USE
from tests.support.cli import Cli, Result
from tests.support.fake_worker import FakeWorker
from tests.support.golden import REWRITE, Entries, title

from queuectl.queue import Queue

GOLDEN = Path(__file__).with_name("golden") / "mistakes.txt"
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
def shared_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a job in every state. All cases share it: each shows that it left it as it was."""
    path = tmp_path_factory.mktemp("shared") / "home"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("QUEUECTL_HOME", str(path))
        with Queue.open() as queue:
            FakeWorker(queue).add_jobs_in_every_state()
    return path


@pytest.fixture
def shared_queue(shared_home: Path, home_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Queue]:
    monkeypatch.setenv("QUEUECTL_HOME", str(shared_home))
    with Queue.open() as queue:
        yield queue


@pytest.fixture(scope="module")
def golden() -> Iterator[Entries]:
    entries = Entries(GOLDEN)
    yield entries
    entries.save()


def dump(queue: Queue) -> dict[str, object]:
    """Everything that the store holds."""
    db = queue.store.connection  # type: ignore[attr-defined]
    return {name: db.all(f"SELECT * FROM {name} ORDER BY 1") for name in TABLES}


def put(case: Mistake, directory: Path) -> None:
    for name, content in case.files.items():
        (directory / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def assert_told_alike(text: Result, json: Result) -> None:
    """An error line and at most one with a hint; with `--json` an object that says the same."""
    assert text.out == json.out == ""
    error = json.error
    assert set(error) == {"code", "message", "hint"}
    lines = [f"error: {error['message']}", *([f"  hint: {error['hint']}"] if error["hint"] else [])]
    assert text.err.splitlines() == lines


@pytest.mark.parametrize("case", CASES, ids=lambda case: title(case.name))
def test_the_mistake_is_named_and_nothing_is_written(
    case: Mistake, shared_queue: Queue, cli: Cli, work_dir: Path, golden: Entries
) -> None:
    put(case, work_dir)
    before = dump(shared_queue)

    text, json = cli(*case.words), cli("--json", *case.words)

    assert (text.code, json.code, json.error["code"]) == (case.code, case.code, case.kind)
    assert_told_alike(text, json)
    golden.check(title(case.name), case.words, text)
    assert dump(shared_queue) == before


@pytest.mark.parametrize("case", [c for c in CASES if c.early], ids=lambda case: title(case.name))
def test_what_is_wrong_by_itself_makes_no_store(
    case: Mistake, cli: Cli, home_dir: Path, work_dir: Path
) -> None:
    put(case, work_dir)

    assert cli(*case.words).code == case.code

    assert not home_dir.exists()


def test_there_are_enough_cases_and_each_is_another(golden: Entries) -> None:
    assert len(CASES) >= 300
    assert len({(case.words, repr(case.files)) for case in CASES}) == len(CASES)
    assert len({title(case.name) for case in CASES}) == len(CASES)


@pytest.mark.skipif(REWRITE, reason="the golden file is written when all cases have run")
def test_the_golden_file_has_no_entry_too_many(golden: Entries) -> None:
    assert golden.titles == [title(case.name) for case in CASES]

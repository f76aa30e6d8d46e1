"""Bad input through the command line: the exit code, the words, and a store that stays as it was."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.conftest import Cli, Result
from tests.cli.mistake import Mistake
from tests.cli.mistakes_in_jobs import IN_JOBS
from tests.cli.mistakes_in_use import IN_USE

from queuectl.queue import Queue

CASES = [*IN_JOBS, *IN_USE]
TABLES = ("jobs", "attempts", "workers", "config")


def dump(queue: Queue) -> dict[str, object]:
    """Everything that the store holds."""
    return {name: queue.store.connection.all(f"SELECT * FROM {name}") for name in TABLES}


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of a case lie in the current directory."""
    path = tmp_path / "files"
    path.mkdir()
    monkeypatch.chdir(path)
    return path


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
    case: Mistake, several: None, queue: Queue, cli: Cli, elsewhere: Path
) -> None:
    put(case, elsewhere)
    before = dump(queue)

    assert_told(cli(*case.words), case)

    assert dump(queue) == before


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_with_json_the_error_is_one_object_on_stderr(
    case: Mistake, several: None, cli: Cli, elsewhere: Path
) -> None:
    put(case, elsewhere)

    result = cli("--json", *case.words)

    assert result.code == case.code
    assert result.out == ""
    error = json.loads(result.err)["error"]
    assert set(error) == {"code", "message", "hint"}
    assert error["code"] == case.kind
    assert case.says in error["message"]
    assert case.hint in (error["hint"] or "")


@pytest.mark.parametrize("case", [c for c in CASES if c.early], ids=lambda case: case.name)
def test_what_is_wrong_by_itself_makes_no_store(case: Mistake, cli: Cli, home: Path, elsewhere: Path) -> None:
    put(case, elsewhere)

    assert cli(*case.words).code == case.code

    assert not home.exists()


def test_there_are_enough_cases_and_each_is_another() -> None:
    assert len(CASES) >= 70
    assert len({(case.words, repr(case.files)) for case in CASES}) == len(CASES)


# --- more than a row of the table can say -------------------------------------------------------------


def test_a_bad_line_far_down_takes_the_whole_file_with_it(cli: Cli, queue: Queue, elsewhere: Path) -> None:
    lines = [json.dumps({"id": f"j{n}", "command": "true"}) for n in range(3_000)]
    Path("jobs").write_text("\n".join([*lines, "{}"]))

    result = cli("enqueue", "-f", "jobs")

    assert result.code == 2
    assert "line 3001: the command is missing" in result.err
    assert queue.stats().counts["pending"] == 0


def test_stdin_is_judged_like_a_file(cli_process: Cli, queue: Queue) -> None:
    result = cli_process("enqueue", "-f", "-", stdin='{"command":"x"}\n{"command":7}\n')

    assert result.code == 2
    assert "line 2: command must be text" in result.err
    assert queue.stats().counts["pending"] == 0


def test_bytes_that_are_no_text_come_through_a_real_command_line(cli_process: Cli) -> None:
    result = cli_process("enqueue", os.fsdecode(b"echo \xff"))

    assert result.code == 2
    assert "lone surrogate" in result.err
    assert "Traceback" not in result.err


def test_a_terminal_as_stdin_is_not_waited_for(terminal: Cli) -> None:
    result = terminal("enqueue", "-f", "-")

    assert result.code == 2
    assert "nothing is piped in" in result.out


def test_several_ids_are_tried_each_and_the_worst_decides(cli: Cli, several: None, queue: Queue) -> None:
    result = cli("retry", "nosuch", "done", "broken")

    assert result.code == 4
    assert "there is no job 'nosuch'" in result.err
    assert "job done is completed" in result.err
    assert result.out == "✓ Job broken moved back to pending queue\n"
    assert queue.get("broken").state == "pending"


@pytest.mark.parametrize("words", [("status", "--watch", "--json"), ("logs", "done", "-f", "--json")])
def test_json_and_an_endless_view_do_not_go_together(cli: Cli, several: None, words: tuple[str, ...]) -> None:
    result = cli(*words)

    assert result.code == 2
    assert "do not go together" in json.loads(result.err)["error"]["message"]


def test_a_directory_that_is_gone(cli: Cli, queue: Queue, elsewhere: Path) -> None:
    elsewhere.rmdir()

    result = cli("enqueue", "echo hi")

    assert result.code == 2
    assert "the current directory does not exist any more" in result.err
    assert "--cwd DIR" in result.err
    assert cli("enqueue", "--cwd", "/", "echo hi").code == 0


def test_a_variable_with_a_bad_setting(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUEUECTL_MAX_RETRIES", "many")

    result = cli("enqueue", "echo hi")

    assert result.code == 2
    assert "max-retries must be a whole number, not 'many'" in result.err


@pytest.mark.parametrize(
    ("text", "says"),
    [("max-retries = ", "cannot read"), ("max-retrys = 3", "there is no setting"), ("\xff", "cannot read")],
)
def test_a_bad_config_file(cli: Cli, home: Path, text: str, says: str) -> None:
    home.mkdir()
    (home / "config.toml").write_bytes(text.encode("latin-1"))

    result = cli("list")

    assert result.code == 2
    assert says in result.err
    assert str(home / "config.toml") in result.err
    assert "Traceback" not in result.err


# --- stores that cannot be used -----------------------------------------------------------------------


def test_a_damaged_store_is_refused_and_left_alone(cli: Cli, home: Path) -> None:
    home.mkdir()
    file = home / "queue.db"
    file.write_bytes(os.urandom(8192))
    content = file.read_bytes()

    result = cli("enqueue", "echo hi")

    assert_store_error(result, "is damaged or not a database")
    assert file.read_bytes() == content


def test_a_text_file_is_no_store(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("buy milk\n")

    assert_store_error(cli("--db", str(file), "list"), "is damaged or not a database")

    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes.txt"]
    assert file.read_text() == "buy milk\n"


def test_a_database_of_another_program_is_left_alone(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "theirs.db"
    with closing(sqlite3.connect(file)) as theirs:
        theirs.execute("CREATE TABLE jobs (id TEXT)")
        theirs.commit()
    content = file.read_bytes()

    assert_store_error(cli("list", "--db", str(file)), "is a database of another program")

    assert file.read_bytes() == content
    assert sorted(path.name for path in tmp_path.iterdir()) == ["theirs.db"]


def test_a_store_of_a_newer_version_is_left_alone(cli: Cli, home: Path) -> None:
    assert cli("enqueue", "--id", "old", "echo hi").code == 0
    with closing(sqlite3.connect(home / "queue.db")) as newer:
        newer.execute("PRAGMA user_version = 99")

    assert_store_error(cli("enqueue", "--id", "new", "echo hi"), "was written by a newer queuectl")

    with closing(sqlite3.connect(home / "queue.db")) as newer:
        assert newer.execute("SELECT id FROM jobs").fetchall() == [("old",)]


def test_a_home_that_is_a_file(cli: Cli, home: Path) -> None:
    home.write_text("in the way")

    assert_store_error(cli("enqueue", "echo hi"), "is not a directory")

    assert home.read_text() == "in the way"


def test_a_home_that_cannot_be_made(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("QUEUECTL_HOME", str(tmp_path / "file" / "below" / "home"))

    assert_store_error(cli("enqueue", "echo hi"), "")


def test_a_directory_is_no_store(cli: Cli, tmp_path: Path) -> None:
    assert_store_error(cli("list", "--db", str(tmp_path)), "cannot open")


def test_a_store_that_somebody_else_may_not_write(cli: Cli, home: Path, tmp_path: Path) -> None:
    """As root everything is writable, so a file system that nobody can write stands in for it."""
    assert_store_error(cli("enqueue", "--db", "/proc/queuectl.db", "echo hi"), "cannot create")


def assert_store_error(result: Result, says: str) -> None:
    assert result.code == 3, result.err
    assert result.out == ""
    assert result.err.startswith("error: ")
    assert says in result.err
    assert "hint: " in result.err
    assert "Traceback" not in result.err

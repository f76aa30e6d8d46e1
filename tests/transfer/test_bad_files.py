"""A file that is no whole and valid export is refused with its line, before anything is written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.cli import Cli
from tests.support.engines import engines
from tests.transfer.places import Places, ask, everything, insert, queuectl, rows
from tests.transfer.rows import attempt, job, queue, schedule

JOB, ATTEMPT, SETTING = 1, 3, 4  # places in the file below; its lines are counted from 1


@pytest.fixture
def lines(place: Places, cli: Cli, tmp_path: Path) -> list[str]:
    """An export of two jobs, an attempt and a setting."""
    here = place("sqlite")
    insert(here, "jobs", job(1, tags=",a,", env='{"A": "b"}', argv='["ls"]', backoff_base=2.0), job(2))
    insert(here, "attempts", attempt(1, output=b"hi", log="01/1-1.log"))
    insert(here, "config", {"key": "max-retries", "value": "5", "updated_at": 1})
    cli.ok("--db", here, "export", str(tmp_path / "file"))
    return (tmp_path / "file").read_text().splitlines()


@pytest.fixture
def refused(lines: list[str], cli: Cli, tmp_path: Path) -> Callable[..., str]:
    """Imports the content and returns what is said; no store is made."""

    def run(content: str | bytes, *words: str, code: int = 2) -> str:
        file, target = tmp_path / "edited", tmp_path / "target.db"
        file.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
        said = cli("--db", str(target), "import", str(file), *words, code=code).err
        assert not target.exists()
        return said

    return run


def changed(lines: list[str], place: int, **fields: Any) -> str:
    """The file with these columns of one row set, or left out for ... ."""
    parsed = json.loads(lines[place])
    parsed["row"] = {name: value for name, value in {**parsed["row"], **fields}.items() if value is not ...}
    return "\n".join([*lines[:place], json.dumps(parsed), *lines[place + 1 :]])


WRONG: list[tuple[int, dict[str, Any], str]] = [
    (JOB, {"colour": "red"}, "line 2: jobs has no column 'colour'"),
    (JOB, {"command": ...}, "line 2: column command of jobs is missing"),
    (JOB, {"command": None}, "line 2: command must be text, not null"),
    (JOB, {"command": 5}, "line 2: command must be text, not a number"),
    (JOB, {"command": " "}, "line 2: the command is empty"),
    (JOB, {"command": "x" * 131_072}, "line 2: the command is 131,072 bytes long"),
    (JOB, {"command": "a\0b"}, "line 2: command holds what is no text: 'a\\x00b'"),
    (JOB, {"command": "\ud800"}, "line 2: command holds what is no text: '\\ud800'"),
    (JOB, {"priority": "high"}, "line 2: priority must be a whole number, not text ('high')"),
    (JOB, {"priority": 1.5}, "line 2: priority must be a whole number, not a number (1.5)"),
    (JOB, {"priority": True}, "line 2: priority must be a whole number, not true or false"),
    (JOB, {"priority": 2**31}, "line 2: priority must be between"),
    (JOB, {"run_at": 2**63}, "line 2: run_at is too large a number"),
    (JOB, {"run_at": [1]}, "line 2: run_at must be a whole number, not a list"),
    (JOB, {"backoff_base": "2"}, "line 2: backoff_base must be a number, not text ('2')"),
    (JOB, {"backoff_base": float("nan")}, "line 2: backoff_base must be a number, not a number (nan)"),
    (JOB, {"backoff_base": 10**400}, "line 2: backoff_base is too large a number"),
    (JOB, {"backoff_strategy": "soon"}, "line 2: unknown backoff_strategy 'soon'"),
    (JOB, {"state": "waiting"}, "line 2: unknown state 'waiting'"),
    (JOB, {"state": "processing"}, "line 2: the job belongs to a worker"),
    (JOB, {"claim": "c"}, "line 2: the job belongs to a worker"),
    (JOB, {"id": "a b"}, "line 2: id 'a b' is not allowed"),
    (JOB, {"id": "x" * 129}, "line 2: id 'xxx"),
    (JOB, {"queue": ""}, "line 2: queue name '' is not allowed"),
    (JOB, {"max_retries": -1}, "line 2: max_retries must be between"),
    (JOB, {"env": "A=b"}, "line 2: env must be JSON in a string"),
    (JOB, {"env": "[]"}, "line 2: env must be an object"),
    (JOB, {"env": '{"A": 1}'}, "line 2: the value of A must be text"),
    (JOB, {"argv": "{}"}, "line 2: argv must be a list of words"),
    (JOB, {"argv": "[" * 100_000}, "line 2: argv must be JSON in a string"),
    (JOB, {"tags": "a,b"}, "line 2: tags are written ',a,b,', not 'a,b'"),
    (JOB, {"tags": ",a b,"}, "line 2: tag 'a b' is not allowed"),
    (JOB, {"cwd": ""}, "line 2: cwd must be the path of a directory"),
    (JOB, {"seq": 0}, "line 2: seq must be at least 1, not 0"),
    (JOB, {"seq": 2}, "line 3: jobs must be in the order of seq, each once; (2,) is not"),
    (JOB, {"seq": 3}, "line 3: jobs must be in the order of seq, each once; (2,) is not"),
    (JOB, {"rules": "memory=5"}, "line 2: rules must be JSON in a string"),
    (JOB, {"rules": "[" * 100_000}, "line 2: rules must be JSON in a string"),
    (JOB, {"rules": "[]"}, "line 2: rules must be an object, not a list"),
    (JOB, {"rules": '{"colour": 1}'}, "line 2: rules have no 'colour'"),
    (JOB, {"rules": '{"queue": "a"}'}, "line 2: rules have no 'queue'"),
    (JOB, {"rules": '{"ok_codes": "many"}'}, "line 2: ok_codes 'many'"),
    (JOB, {"rules": '{"ok_codes": [3, 0]}'}, 'line 2: ok_codes in rules must be written "0,3"'),
    (JOB, {"rules": '{"memory": "1K"}'}, "line 2: memory in rules must be written 1024"),
    (JOB, {"rules": '{"memory": 0}'}, "line 2: memory must be more than nothing"),
    (JOB, {"rules": '{"cpu_time": "2s"}'}, "line 2: cpu_time in rules must be written 2000"),
    (JOB, {"rules": '{"cpu_time": 999}'}, "line 2: cpu_time must be at least one second"),
    (JOB, {"rules": '{"files": 2}'}, "line 2: files must be between"),
    (JOB, {"rules": '{"ok_codes": "3", "retry_on": "3"}'}, "line 2: exit code 3 is both in ok_codes and in"),
    (JOB, {"needs": "gpu"}, "line 2: needs must be written 'gpu=1'"),
    (JOB, {"needs": "gpu=x"}, "line 2: needs 'gpu=x'"),
    (JOB, {"unique_key": " "}, "line 2: unique_key must be text that is not empty"),
    (JOB, {"unique_key": "x" * 192}, "line 2: unique_key is longer than 191 characters"),
    (JOB, {"job_group": "a b"}, "line 2: group 'a b' is not allowed"),
    (JOB, {"held": 0}, "line 2: held must be 1 or nothing, not 0"),
    (JOB, {"unmet": 2}, "line 2: unmet must be 1 or nothing, not 2"),
    (JOB, {"waits": 0}, "line 2: waits must be between 1 and"),
    (JOB, {"schedule": "a b"}, "line 2: schedule name 'a b' is not allowed"),
    (JOB, {"notify": "tell"}, "line 2: notify says nothing"),
    (JOB, {"notify": '{"command": 5}'}, "line 2: notify says nothing"),
    (JOB, {"notify": '{"on": ["dead"], "command": "x"}'}, "line 2: notify must be written"),
    (JOB, {"notify": '{"command": "a", "colour": 1}'}, "line 2: notify must be written"),
    (JOB, {"input": "x" * 1_000_001}, "line 2: input is 1,000,001 bytes long"),
    (JOB, {"about": "a b"}, "line 2: about 'a b' is not allowed"),
    (JOB, {"env": '{"QUEUECTL_NOTIFY_ID": "x"}'}, "line 2: QUEUECTL_NOTIFY_ID is set by the queue itself"),
    (JOB, {"about": "a", "env": '{"QUEUECTL_JOB_ID": "x"}'}, "line 2: QUEUECTL_JOB_ID is set by the queue"),
    (JOB, {"progress": 101}, "line 2: progress must be between 0 and 100"),
    (JOB, {"state": "blocked"}, "line 2: the job is blocked, but by nothing"),
    (ATTEMPT, {"run": -1}, "line 4: run must be at least 1, not -1"),
    (ATTEMPT, {"output": "???"}, "line 4: output must be base64 text, not text ('???')"),
    (ATTEMPT, {"output": "aGk"}, "line 4: output must be base64 text"),
    (ATTEMPT, {"output": 7}, "line 4: output must be base64 text, not a number"),
    (
        ATTEMPT,
        {"log": "../../../etc/passwd"},
        "line 4: log must be '01/1-1.log' or nothing, not '../../../etc",
    ),
    (ATTEMPT, {"log": "02/2-1.log"}, "line 4: log must be '01/1-1.log' or nothing"),
    (SETTING, {"key": "_copy"}, "line 5: '_copy' is no setting"),
    (SETTING, {"value": "many"}, "the settings in the file: max-retries"),
]


# The same for rows of the other tables, each behind the setting as line 6.
WRONG_ELSEWHERE: list[tuple[str, dict[str, Any], str]] = [
    ("dependencies", {"kind": "soon"}, "unknown kind 'soon'"),
    ("dependencies", {"kind": ...}, "column kind of dependencies is missing"),
    ("dependencies", {"settled": 2}, "settled must be between 0 and 1, not 2"),
    ("dependencies", {"parent_seq": 0}, "parent_seq must be at least 1, not 0"),
    ("dependencies", {"child_seq": -1}, "child_seq must be at least 1, not -1"),
    ("dependencies", {"child_seq": 1}, "the job with seq 1 waits for itself"),
    ("unsettled", {"seq": 0}, "seq must be at least 1, not 0"),
    ("unsettled", {"seq": "1"}, "seq must be a whole number, not text ('1')"),
    ("queues", {"name": "a/b"}, "queue name 'a/b' is not allowed"),
    ("queues", {"rate": "fast"}, "rate of queue mail 'fast': not a rate"),
    ("queues", {"rate": "none"}, "rate of queue mail 'none': not a rate"),
    ("queues", {"burst": 0}, "burst"),
    ("queues", {"rate": ..., "burst": 5}, "burst is given without rate"),
    ("queues", {"timeout_percent": 50}, "timeout_percent must be between 101% and"),
    ("queues", {"concurrency": 0}, "with a concurrency of 0 nothing would ever run"),
    ("queues", {"concurrency": -1}, "concurrency must be between"),
    ("queues", {"timeout": 0}, "timeout must be between 1 and"),
    ("queues", {"max_retries": -1}, "max_retries must be between"),
    ("queues", {"backoff_strategy": "soon"}, "unknown backoff_strategy 'soon'"),
    ("queues", {"backoff_base": 0}, "backoff_base must be a number above 0"),
    ("queues", {"backoff_max": -1}, "backoff_max must be between 0 and"),
    ("queues", {"retry_delay": -1}, "retry_delay must be between 0 and"),
    ("queues", {"draining": 2}, "draining must be 1 or nothing, not 2"),
    ("queues", {"pause_reason": "x" * 501}, "the reason is longer than 500 characters"),
    ("queues", {"notify": "tell"}, "notify says nothing"),
    ("queues", {"updated_at": ...}, "column updated_at of queues is missing"),
    ("job_groups", {"name": "a b"}, "group 'a b' is not allowed"),
    ("job_groups", {"concurrency": 0}, "concurrency must be between 1 and"),
    ("schedules", {"name": "a b"}, "schedule name 'a b' is not allowed"),
    ("schedules", {"recurrence": "61 * * * *"}, "schedule '61 * * * *': minute '61' is not valid"),
    ("schedules", {"recurrence": ""}, "schedule"),
    ("schedules", {"zone": "Mars/Base"}, "time zone 'Mars/Base' is not known"),
    ("schedules", {"catch_up": "most"}, "unknown catch-up rule 'most'"),
    ("schedules", {"overlap": "never"}, "unknown overlap rule 'never'"),
    ("schedules", {"overlap": ""}, "unknown overlap rule"),
    ("schedules", {"job": "echo hi"}, "job must be JSON in a string"),
    ("schedules", {"job": "[" * 100_000}, "job must be JSON in a string"),
    ("schedules", {"job": "[]"}, "job must be an object, not a list"),
    ("schedules", {"job": "{}"}, "the command is missing"),
    ("schedules", {"job": '{"command": "a", "colour": 1}'}, "unknown field 'colour'"),
    ("schedules", {"job": '{"command": "a", "id": "x"}'}, "the job of a schedule cannot have id"),
    ("schedules", {"fired": -1}, "fired must be between 0 and"),
    ("schedules", {"skipped": -1}, "skipped must be between 0 and"),
]
GOOD: dict[str, dict[str, Any]] = {
    "dependencies": {"parent_seq": 1, "child_seq": 2, "kind": "success"},
    "unsettled": {"seq": 1},
    "queues": queue("mail", rate="100/min", burst=5, paused_at=1, pause_reason="down", draining=1),
    "job_groups": {"name": "site", "concurrency": 2, "updated_at": 1},
    "schedules": schedule("nightly"),
}


def with_row(lines: list[str], table: str, **fields: Any) -> str:
    """The file with one more row, which is right but for these columns."""
    row = {name: value for name, value in {**GOOD[table], **fields}.items() if value is not ...}
    return "\n".join([*lines[:-1], json.dumps({"table": table, "row": row}), lines[-1]])


@pytest.mark.parametrize(
    ("table", "fields", "message"),
    WRONG_ELSEWHERE,
    ids=[f"{n}-{t}-{m[:30]}" for n, (t, _, m) in enumerate(WRONG_ELSEWHERE)],
)
def test_a_row_of_another_table_that_cannot_be(
    table: str, fields: dict[str, Any], message: str, lines: list[str], refused: Callable[..., str]
) -> None:
    said = refused(with_row(lines, table, **fields), "--edited")
    assert "line 6: " in said
    assert message in said


@pytest.mark.parametrize("table", GOOD)
def test_a_row_that_was_added_by_hand(
    table: str, lines: list[str], refused: Callable[..., str], place: Places, cli: Cli, tmp_path: Path
) -> None:
    assert "are not those that were exported" in refused(with_row(lines, table))
    there = place("sqlite")
    (tmp_path / "edited").write_text(with_row(lines, table))
    cli.ok("--db", there, "import", str(tmp_path / "edited"), "--edited")
    assert ask(there, f"SELECT count(*) FROM {table}") == [(1,)]


@pytest.mark.parametrize(
    ("line", "fields", "message"), WRONG, ids=[f"{n}-{m[:40]}" for n, (_, _, m) in enumerate(WRONG)]
)
def test_a_row_that_cannot_be(
    line: int, fields: dict[str, Any], message: str, lines: list[str], refused: Callable[..., str]
) -> None:
    assert message in refused(changed(lines, line, **fields), "--edited")


def test_a_line_that_cannot_be(lines: list[str], refused: Callable[..., str]) -> None:
    def with_line(line: str) -> str:
        return refused("\n".join([*lines[:2], line, *lines[2:]]))

    assert "line 3: unknown table 'workers'" in with_line('{"table": "workers", "row": {}}')
    assert "line 3: unknown table None" in with_line("{}")
    assert "line 3: unknown table ['jobs']" in with_line('{"table": ["jobs"], "row": {}}')
    assert "line 3: unknown field 'x'" in with_line('{"table": "jobs", "row": {}, "x": 1}')
    assert "line 3: row must be an object, not null" in with_line('{"table": "jobs"}')
    assert "line 3: a line must be an object, not a list" in with_line("[]")
    assert "line 3: malformed JSON" in with_line("{")
    assert "line 3: malformed JSON" in with_line("[" * 100_000)
    assert "line 3: malformed JSON" in with_line("1" * 5000)
    behind = "\n".join([*lines, "", lines[1]])
    assert "line 8: there is more behind the end" in refused(behind)


def test_what_is_no_export(refused: Callable[..., str], lines: list[str]) -> None:
    for content in ("", "\n", "hello\n", "[]", "{}", '{"id": "job1", "command": "true"}\n', "\0" * 100):
        assert "this is no export of queuectl" in refused(content)
    assert "this is no export" in refused(b"\xff\xfe" + "\n".join(lines).encode("utf-16-le"))
    newer = lines[0].replace('"version": 1', '"version": 2')
    assert "the export has version 2, this queuectl reads 1" in refused("\n".join([newer, *lines[1:]]))


def test_a_file_that_was_cut(refused: Callable[..., str], lines: list[str]) -> None:
    whole = "\n".join(lines) + "\n"
    for count in range(1, len(lines)):
        assert "the file is cut off" in refused("\n".join(lines[:count]) + "\n")
    for length in (len(lines[0]) + 20, len(whole) - 5, len(whole) - 200):
        assert "cut off" in refused(whole[:length])


def test_a_file_that_was_edited_is_noticed(refused: Callable[..., str], lines: list[str]) -> None:
    said = refused(changed(lines, JOB, command="echo other"))
    assert "the jobs are not those that were exported: count or checksum differ" in said
    assert "--edited" in said
    assert "the attempts are not those" in refused(
        "\n".join(line for line in lines if "attempts" not in line[:20])
    )
    assert "the settings are not those" in refused(changed(lines, SETTING, value="6"))
    end = json.dumps({"queuectl": "end"})
    assert "the jobs are not those" in refused("\n".join([*lines[:-1], end]))


@pytest.mark.parametrize("engine", engines(long=["mysql"]))
def test_a_file_that_was_edited_on_purpose(
    engine: str, lines: list[str], place: Places, cli: Cli, tmp_path: Path
) -> None:
    """Also by an editor that writes other line ends and a byte order mark."""
    there = place(engine)
    text = changed(lines, JOB, command="echo other", backoff_base=3)
    (tmp_path / "edited").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode() + b"\r\n\r\n")
    cli.ok("--db", there, "import", str(tmp_path / "edited"), "--edited")
    assert cli.ok("--db", there, "show", "j1", "--json").json()["command"] == "echo other"
    assert rows(there) == {"jobs": 2, "attempts": 1, "config": 1}


@pytest.mark.parametrize("engine", engines(long=["mysql"]))
@pytest.mark.parametrize("twice", [{"id": "j2"}, {"unique_key": "k"}])
def test_what_only_the_engine_notices_leaves_nothing_behind(
    engine: str, twice: dict[str, str], lines: list[str], place: Places, cli: Cli, tmp_path: Path
) -> None:
    there = place(engine)
    both = changed(changed(lines, JOB, **twice).splitlines(), JOB + 1, **twice)
    (tmp_path / "edited").write_text(both)
    said = cli("--db", there, "import", str(tmp_path / "edited"), "--edited", code=2).err
    assert "an id is given twice, or the unique_key of two jobs that have not ended" in said
    assert rows(there) == {"jobs": 0, "attempts": 0, "config": 0}


def test_a_missing_file(cli: Cli, tmp_path: Path) -> None:
    assert "cannot read" in cli("import", str(tmp_path / "no"), code=2).err
    assert "cannot read" in cli("import", str(tmp_path), code=2).err


def test_nothing_is_written_for_a_bad_pipe(tmp_path: Path, lines: list[str]) -> None:
    target = tmp_path / "target.db"
    done = queuectl("--db", str(target), "import", input="\n".join(lines[:-1]).encode())
    assert (done.returncode, "cut off" in done.stderr) == (2, True)
    assert not target.exists()


def test_columns_that_are_missing_are_empty(
    lines: list[str], place: Places, cli: Cli, tmp_path: Path
) -> None:
    """As in a file of an older version, which did not have them."""
    there, other = place("sqlite"), place("sqlite")
    (tmp_path / "a").write_text("\n".join(lines))
    (tmp_path / "b").write_text(changed(lines, JOB, finished_at=None, last_error=None))
    cli.ok("--db", there, "import", str(tmp_path / "a"))
    cli.ok("--db", other, "import", str(tmp_path / "b"))
    assert everything(there) == everything(other)


OLD_TABLES = ("jobs", "attempts", "config")


@pytest.mark.parametrize("engine", engines(long=["mysql"]))
def test_an_export_of_the_first_schema_is_taken(
    engine: str, lines: list[str], place: Places, cli: Cli, tmp_path: Path
) -> None:
    """It speaks of three tables only; what it does not have is empty."""
    there, other = place("sqlite"), place(engine)
    end = json.loads(lines[-1])
    end["tables"] = {name: end["tables"][name] for name in OLD_TABLES}
    (tmp_path / "new").write_text("\n".join(lines))
    (tmp_path / "old").write_text("\n".join([*lines[:-1], json.dumps(end)]))
    assert all(
        name not in line
        for line in (tmp_path / "old").read_text().splitlines()
        for name in ("rules", "queues", "schedules", "job_group", "dependencies", "unsettled")
    )
    cli.ok("--db", there, "import", str(tmp_path / "new"))
    cli.ok("--db", other, "import", str(tmp_path / "old"))
    assert everything(there) == everything(other)


def test_a_table_that_is_not_in_the_sums_must_be_empty(lines: list[str], refused: Callable[..., str]) -> None:
    end = json.loads(lines[-1])
    end["tables"] = {name: end["tables"][name] for name in OLD_TABLES}
    content = with_row([*lines[:-1], json.dumps(end)], "dependencies")
    assert "the dependencies are not those that were exported" in refused(content)

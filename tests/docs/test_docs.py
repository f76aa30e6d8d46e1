"""The documents say what is true: references are complete, and what they show really happens."""

from __future__ import annotations

import re
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs.blocks import ROOT
from tests.docs.session import Session, blocks

from queuectl.cli.main import COMMANDS
from queuectl.config.settings import ALIASES, ATTEMPTS_ALIASES, KEYS


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    started = Session(tmp_path)
    yield started
    started.close()


def test_every_command_is_documented() -> None:
    sections = set(re.findall(r"^## (.+)$", (ROOT / "docs/cli.md").read_text(), re.MULTILINE))
    assert set(COMMANDS) - sections == set()


def test_every_setting_is_documented_by_all_its_names() -> None:
    text = (ROOT / "docs/configuration.md").read_text()
    assert [name for name in (*KEYS, *ALIASES, *ATTEMPTS_ALIASES) if f"`{name}`" not in text] == []


def test_every_environment_variable_is_documented() -> None:
    source = "".join(path.read_text() for path in (ROOT / "src/queuectl").rglob("*.py"))
    named = set(re.findall(r"\bQUEUECTL_[A-Z_]*[A-Z]\b", source))
    text = (ROOT / "docs/configuration.md").read_text()
    assert {name for name in named if f"`{name}`" not in text} == set()


def test_the_python_examples_run(session: Session) -> None:
    session.run("queuectl worker start --count 2")
    program = "\n".join(body for _, body in blocks("docs/python-api.md", "python"))
    done = session.run([sys.executable, "-P", "-W", "error", "-c", program])
    assert done.returncode == 0, done.stdout


def test_the_sql_examples_run(session: Session) -> None:
    session.run("queuectl run --id job1 -- echo hello")
    store = (session.directory.parent / ".queuectl/queue.db").as_uri()
    connection = sqlite3.connect(f"{store}?mode=ro", uri=True)
    try:
        queries = [body for _, body in blocks("docs/states.md", "sql")]
        answers = [connection.execute(query).fetchall() for query in queries]
    finally:
        connection.close()
    assert len(queries) >= 3
    assert any("job1" in row for answer in answers for row in answer)


def test_every_column_is_documented(session: Session) -> None:
    session.run("queuectl init")
    connection = sqlite3.connect(session.directory.parent / ".queuectl/queue.db")
    try:
        found = connection.execute(
            "SELECT t.name, c.name FROM sqlite_schema AS t, pragma_table_info(t.name) AS c "
            "WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%'"
        ).fetchall()
    finally:
        connection.close()
    text = (ROOT / "docs/states.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^### (\w+)\n(.*?)(?=^### |\Z)", text, re.MULTILINE | re.DOTALL))
    assert [(table, column) for table, column in found if f"`{column}`" not in sections[table]] == []

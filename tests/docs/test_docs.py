"""The documents say what is true: references are complete, and what they show really happens."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs.blocks import ROOT, blocks_of
from tests.support.home import path_with_queuectl

from queuectl.cli.main import COMMANDS
from queuectl.config.settings import ALIASES, ATTEMPTS_ALIASES, KEYS

FORCED = ("QUEUECTL_PORTABLE",)  # the whole suite can run with it
EXIT_CODE = re.compile(r"\s+# exit code (\d+)$")

# What differs from run to run, in the order in which it is replaced.
VARYING = (
    (r"\S+-\d+-[0-9a-f]{6}\b", "WORKER"),
    (r"\b[0-9a-hjkmnp-tv-z]{13}\b", "ID"),
    (r"\b\d{4}-\d\d-\d\dT[\d:.]+Z|\b\d{8}T\d{6}Z", "WHEN"),
    (r"\bqueue-[0-9a-f]{8}-WHEN", "queue-MARK-WHEN"),
    (r"/\S*/\.queuectl/", "~/.queuectl/"),
    (r"(\(| )\d+(\.\d+)?[KMG]\b", r"\1SIZE"),
    (r"(\w{3} )?\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?( [A-Z]{3,4}\b)?", "WHEN"),
    (r"\((now|in \w+|\w+ ago)\)", "(AGO)"),
    (r"<?\b\d+(\.\d+)? ?(ms|s|m|h)\b", "SPAN"),
    (r", used SPAN of processor time", ""),  # too little to be told, now and then
    (r"(Throughput|Directory):.*", r"\1"),
    (r"[ \t]+", " "),
)


def blocks(document: str, *kinds: str) -> list[tuple[str, str]]:
    return [(block.kind, block.body) for block in blocks_of(document, *kinds) if not block.not_run]


class Session:
    """A shell of a new user: an empty home, and `queuectl` on the path."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory / "work"
        self.directory.mkdir()
        kept = {k: v for k, v in os.environ.items() if not k.startswith("QUEUECTL_") or k in FORCED}
        # Unbuffered, so that stdout and stderr come in the order that a terminal shows.
        path = path_with_queuectl(directory, "-u")
        self.environment = {**kept, "HOME": str(directory), "PATH": path, "NO_COLOR": "1"}

    def run(self, command: str | list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            shell=isinstance(command, str),
            cwd=self.directory,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            check=False,
        )


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    started = Session(tmp_path)
    yield started
    started.run("queuectl worker stop --now")


def steps(block: str) -> Iterator[tuple[str, int, str]]:
    """The commands of a console block, with the exit code and the output that it shows."""
    for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, output = step.partition("\n")
        while output.startswith("> "):  # the shell asks for the rest of it
            more, _, output = output.partition("\n")
            command += "\n" + more.removeprefix("> ")
        code = EXIT_CODE.search(command)
        yield EXIT_CODE.sub("", command), int(code[1]) if code else 0, output


def alike(text: str) -> list[str]:
    for pattern, word in VARYING:
        text = re.sub(pattern, word, text)
    return [line.strip() for line in text.strip().splitlines()]


def test_the_documents_agree_with_the_repository() -> None:
    checked = subprocess.run(
        [sys.executable, str(ROOT / "tools/check_docs.py")], capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_documented(command: str) -> None:
    assert re.search(rf"^## {command}$", (ROOT / "docs/cli.md").read_text(), re.MULTILINE)


@pytest.mark.parametrize("name", [*KEYS, *ALIASES, *ATTEMPTS_ALIASES])
def test_every_setting_is_documented_by_all_its_names(name: str) -> None:
    assert f"`{name}`" in (ROOT / "docs/configuration.md").read_text()


def test_every_environment_variable_is_documented() -> None:
    source = "".join(path.read_text() for path in (ROOT / "src/queuectl").rglob("*.py"))
    named = set(re.findall(r"\bQUEUECTL_[A-Z_]*[A-Z]\b", source))
    text = (ROOT / "docs/configuration.md").read_text()
    assert {name for name in named if f"`{name}`" not in text} == set()


def test_the_tour_of_the_readme_happens_as_written(session: Session) -> None:
    for kind, block in blocks("README.md", "console", "python"):
        if kind == "python":
            done = session.run([sys.executable, "-P", "-c", block])
            assert (done.returncode, done.stdout) == (0, "completed\n"), block
            continue
        for command, code, output in steps(block):
            done = session.run(command)
            assert done.returncode == code, f"{command}\n{done.stdout}"
            assert alike(done.stdout) == alike(output), command


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

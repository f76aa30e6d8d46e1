"""C25, C26: a database or an export that an enemy made: refused, or read as data, never executed."""

from __future__ import annotations

import ast
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from queuectl.store.migrate import OUR_TABLES
from tests.attacks.poison import furnish
from tests.attacks.pseudo_terminal import on_a_terminal
from tests.attacks.sources import trees
from tests.attacks.test_terminal import BROKEN
from tests.support.fake_worker import FakeWorker
from tests.support.home import Home

EVERY_COMMAND = [
    ["list"], ["list", "--json"], ["status"], ["stats"], ["show", "dead"], ["show", "dead", "--json"],
    ["explain", "dead"],
    ["logs", "dead"], ["graph"], ["dlq", "list"], ["worker", "list"], ["queue", "list"], ["schedule",
    "list"],
    ["metrics"], ["config", "list"], ["doctor"], ["enqueue", "--id", "new", "true"], ["retry", "dead"],
    ["hold", "alive"],
    ["edit", "alive", "--priority", "3"], ["cancel", "alive"], ["cleanup", "--state", "completed",
    "--yes"], ["rm", "dead"],
    ["config", "set", "max-retries", "4"], ["export", "all.jsonl"], ["copy", "--to", "copy.db"],
]  # fmt: skip


@pytest.fixture
def furnished(unchecked_home: Home) -> Home:
    with unchecked_home.queue() as queue:
        furnish(queue)
        queue.store.forget(queue.store.workers()[0].id)
    return unchecked_home


@contextmanager
def raw(home: Home) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(home.path / "queue.db")) as db:
        db.execute("PRAGMA busy_timeout = 10000")
        yield db
        db.commit()


def tables(db: sqlite3.Connection) -> list[str]:
    rows = db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
    return [name for (name,) in rows]


def test_triggers_and_views_in_it_are_not_executed(furnished: Home) -> None:
    with raw(furnished) as db:
        db.execute("CREATE TABLE trap (hit TEXT) STRICT")
        for table in tables(db):
            for event in ("INSERT", "UPDATE", "DELETE"):
                if table != "trap":
                    trigger = f'CREATE TRIGGER "t_{table}_{event}" AFTER {event} ON {table}'
                    db.execute(f"{trigger} BEGIN INSERT INTO trap VALUES ('{table} {event}'); END")
        db.execute("CREATE VIEW v AS SELECT writefile('/tmp/pwned', 'x'), load_extension('x')")

    found = on_a_terminal(furnished, EVERY_COMMAND)

    with furnished.queue() as queue:  # what a worker does
        fake_worker = FakeWorker(queue)
        queue.enqueue("true", id="last")
        fake_worker.complete("last")
        fake_worker.leave()
    for words, (_, said) in zip(EVERY_COMMAND, found, strict=True):
        assert not BROKEN.search(said), (words, said)
    with raw(furnished) as db:
        assert db.execute("SELECT * FROM trap").fetchall() == []
    doctor = furnished.q("doctor").stdout
    assert "trigger t_jobs_INSERT is not queuectl's" in doctor
    assert "view v is not queuectl's" in doctor


@pytest.mark.parametrize(
    "craft",
    [
        pytest.param(
            "DROP TABLE jobs; CREATE TABLE jobs (seq INTEGER PRIMARY KEY, id, command)",
            marks=pytest.mark.long,
        ),
        "ALTER TABLE jobs RENAME TO real; CREATE VIEW jobs AS SELECT * FROM real",
        pytest.param(
            "DROP TABLE config; CREATE VIRTUAL TABLE config USING fts5(key, value, updated_at)",
            marks=pytest.mark.long,
        ),
        "PRAGMA writable_schema = ON;"
        "UPDATE sqlite_schema SET sql = replace(sql, ') STRICT', ')') WHERE name = 'jobs'",
    ],
)  # fmt: skip
def test_tables_of_another_shape_are_refused(furnished: Home, craft: str) -> None:
    """In ours every value has its type, SQLite itself sees to that; else each reader had to check."""
    with raw(furnished) as db:
        db.executescript(craft)
    for words, (code, said) in zip(EVERY_COMMAND, on_a_terminal(furnished, EVERY_COMMAND), strict=True):
        assert not BROKEN.search(said), (words, said)
        assert code in ((1, 3) if words == ["doctor"] else (3,)), (words, code, said)


DAMAGE: dict[str, object] = {
    "argv": "nonsense",
    "env": '{"A": 1}',
    "rules": "[" * 100_000,
    "cwd": "a\0b",
    "tags": "\0" * 100,
    "timeout": 2**62,
    "priority": -(2**62),
    "backoff_strategy": "evil",
    "command": "true #" + "x" * 200_000,
}


def test_damaged_fields_of_one_job_do_no_harm_to_others(unchecked_home: Home) -> None:
    """Such a job used to take its worker along, and every one that came after it."""
    with unchecked_home.queue() as queue:
        for column in DAMAGE:
            queue.enqueue("true", id=column, max_retries=0, priority=1)
        queue.enqueue("echo fine", id="good")
    with raw(unchecked_home) as db:
        for column, value in DAMAGE.items():
            db.execute(f"UPDATE jobs SET {column} = ? WHERE id = ?", (value, column))
    worker = unchecked_home.foreground()
    unchecked_home.wait_for("good", "completed", timeout=60)
    for column in ("argv", "env", "rules", "cwd"):
        unchecked_home.wait_for(column, "dead", timeout=60)
        with unchecked_home.queue() as queue:
            assert "damaged" in str(queue.get(column).last_error)
    assert worker.poll() is None
    views = [
        ["list"],
        ["list", "--json"],
        ["show", *DAMAGE],
        ["show", "--json", *DAMAGE],
        ["status"],
        ["dlq", "list"],
    ]
    for words, (code, said) in zip(views, on_a_terminal(unchecked_home, views), strict=True):
        assert code == 0, (words, said[-500:])
        assert not BROKEN.search(said), (words, said[-500:])


HOSTILE_LINES = [
    '{"table": "jobs", "row": {"__class__": "os.system", "__reduce__": ["os.system", "touch pwned"]}}',
    '!!python/object/apply:os.system ["touch pwned"]',
    '{"table": "jobs; DROP TABLE jobs", "row": {}}',
    '{"table": "sqlite_schema", "row": {"type": "trigger"}}',
    '{"table": "jobs", "row": ' + "[" * 100_000 + "}",
    '{"table": "jobs", "row": {"seq": ' + "9" * 5_000 + "}}",
    "cos\nsystem\n(S'touch pwned'\ntR.",
]


def test_a_hostile_export_is_refused_as_a_whole(unchecked_home: Home) -> None:
    unchecked_home.ok("init")
    unchecked_home.ok("export", "good.jsonl")
    head, *rest = (unchecked_home.work / "good.jsonl").read_text().splitlines()
    commands = []
    for number, line in enumerate(HOSTILE_LINES):
        (unchecked_home.work / f"{number}.jsonl").write_text("\n".join([head, line, *rest]) + "\n")
        commands.append(["import", "--edited", "--db", f"{number}.db", f"{number}.jsonl"])
    before = sorted(unchecked_home.work.iterdir())
    for words, (code, said) in zip(commands, on_a_terminal(unchecked_home, commands), strict=True):
        assert code == 2, (words, said)
        assert not BROKEN.search(said), (words, said)
    assert sorted(unchecked_home.work.iterdir()) == before  # no store, and nothing that a line wanted


def test_nothing_is_ever_unpickled_or_evaluated() -> None:
    """The linter refuses it (S102, S301, S307 and others); this is for what it is told to skip."""
    forbidden = {"pickle", "marshal", "shelve", "yaml", "dill", "cloudpickle", "jsonpickle"}
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                assert not forbidden & {alias.name.split(".")[0] for alias in node.names}, path
            if isinstance(node, ast.ImportFrom):
                assert (node.module or "").split(".")[0] not in forbidden, path
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("eval", "exec", "compile"), (path, node.lineno)


def test_every_table_of_ours_is_looked_at(unchecked_home: Home) -> None:
    unchecked_home.ok("init")
    with raw(unchecked_home) as db:
        assert set(tables(db)) == set(OUR_TABLES)


def test_sqlite_loads_no_extension_for_a_file(furnished: Home) -> None:
    with furnished.queue() as queue, pytest.raises(Exception, match=r"not authorized|no such function"):
        queue.store.connection.all("SELECT load_extension('x')")  # type: ignore[attr-defined]
    assert json.loads(furnished.ok("list", "--json"))

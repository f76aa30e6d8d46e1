"""C16: no value becomes part of an SQL statement; what is put into one are names that stand in our code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

from tests.attacks.sources import trees

SQL = re.compile(
    r"^\s*(SELECT|INSERT|UPDATE|DELETE|WITH|CREATE|DROP|ALTER|PRAGMA|REPLACE|LOCK|SET|WHERE|AND|ORDER BY)\s"
)

# Names of tables and columns, question marks, conditions that `filters` and others made with question
# marks, and numbers of our own. Whoever adds to it must have seen that nobody else can choose its text.
ALLOWED = {
    "' AND '.join(conditions)", "' AND '.join(where)", "' UNION ALL '.join(parts)",
    "', '.join('?' * len(OUR_TABLES))", "', '.join('?' * len(rows[0]))",
    "', '.join((f'{name} = ?' for name in _CHANGED))", "', '.join(JOB_COLUMNS)", "', '.join(_READ)",
    "', '.join(chosen)", "', '.join(table.key)", "'DESC' if descending else 'ASC'", "4 * _SMALLEST_PACKET",
    "APPLICATION_ID", "FREE", "SORTS[sort]", "TALLIES.key", "TALLIES.names", "_ATTEMPT_COLUMNS", "_CHUNK",
    "_CLAIM_COLUMNS", "_COLUMNS", "_JOB_COLUMNS", "_MOST_COMPLAINTS", "_MOST_RUNNING", "_OPEN", "_PROMOTE",
    "_RULE_COLUMNS", "_TOUCH", "_WORKER_COLUMNS", "_label(queues)", "_rows_of(table, None)[0]", "amount",
    "assignments", "before", "behind", "columns", "condition", "count", "counts", "db.dialect.claim_from",
    "db.dialect.claim_order", "db.dialect.due_from", "db.dialect.hold", "db.dialect.keep",
    "db.dialect.live_key", "db.dialect.order", "db.dialect.take", "db.dialect.walk_from",
    "dialect.claim_from", "dialect.claim_order", "dialect.kind_from", "dialect.timed", "direction",
    "driver.schema", "_ENDED", "group", "guard", "index.columns", "index.table", "kept", "late", "lock",
    "marks", "marks([REST, *queues])", "marks(_UNFINISHED)", "marks(ids)", "marks(part)", "marks(seqs)",
    "marks(worker_ids)", "mine", "more", "name", "names", "needs", "new", "number", "off[0]", "order",
    "place", "restricted", "rule", "running", "seconds", "self._db.dialect.hold", "self._db.dialect.keep",
    "self._db.dialect.live_key", "self._db.dialect.live_schedule", "sequence", "sets", "source", "state",
    "table", "table.name", "table.numbered", "these", "values", "waiting", "what.key", "what.marks()",
    "what.names", "what.table", "where", "kind.upper()", "', '.join(QUEUE_COLUMNS)", "_COMMAND",
    "_marks(commands)", "_marks(full)", "latest", "marks(filter.ids)", "own", "self._db.dialect.claim_from",
    "self._db.dialect.due_from", "OLDER",
}  # fmt: skip


def pieces(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every expression that is put into a text that looks like SQL, as it is written."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            first = node.values[0] if node.values else None
            text = first.value if isinstance(first, ast.Constant) else ""
            if SQL.match(str(text)):
                for part in node.values:
                    if isinstance(part, ast.FormattedValue):
                        yield node.lineno, ast.unparse(part.value)
        if (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Mod)
            and isinstance(node.left, ast.Constant)
            and SQL.match(str(node.left.value))
        ):
            yield node.lineno, ast.unparse(node.right)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
            inner = node.func.value
            if isinstance(inner, ast.Constant) and SQL.match(str(inner.value)):
                yield node.lineno, ast.unparse(node)


@cache
def found() -> dict[str, set[str]]:
    result: dict[str, set[str]] = {}
    for path, tree in trees().items():
        for _, expression in pieces(tree):
            result.setdefault(path, set()).add(expression)
    return result


def test_only_names_of_ours_are_put_into_sql() -> None:
    for path, expressions in found().items():
        assert path.startswith("store/"), f"{path} has SQL: it belongs into the store"
        assert expressions <= ALLOWED, (path, expressions - ALLOWED)


def test_the_list_has_nothing_that_nobody_uses() -> None:
    assert set().union(*found().values()) == ALLOWED


def test_a_value_in_sql_would_be_found() -> None:
    for line in (
        "db.all(f'SELECT * FROM jobs WHERE id = {job.id!r}')",
        "db.all('SELECT * FROM jobs WHERE id = %s' % id)",
        "db.all('DELETE FROM jobs WHERE id = {}'.format(id))",
    ):
        assert [text for _, text in pieces(ast.parse(line))], line

"""Every point at which the program can be made to die is one at which some test kills it."""

from __future__ import annotations

import re
from pathlib import Path

import queuectl
import tests

SOURCE, TESTS = (
    "\n".join(path.read_text() for path in Path(package.__path__[0]).rglob("*.py"))
    for package in (queuectl, tests)
)


def points() -> set[str]:
    named = set(re.findall(r'failpoint\("([\w.]+)"\)', SOURCE))
    # Each transaction has a name, and with it a point before its commit and one after.
    calls = re.findall(r'\.(?:write|transaction)\(\s*"(\w+)"(?: if \w+ else "(\w+)")?', SOURCE)
    transactions = {name for names in calls for name in names if name}
    return named | {f"{name}.{moment}" for name in transactions for moment in ("before_commit", "committed")}


def test_no_point_is_forgotten() -> None:
    assert len(points()) > 30
    assert sorted(point for point in points() if f'"{point}' not in TESTS) == []

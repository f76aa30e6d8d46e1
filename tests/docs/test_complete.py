"""Nothing that a user can type, set, read or ask for is missing from its page.

Settings, commands, metrics, routes and columns have tests of their own beside this one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.docs.blocks import ROOT, pages

import queuectl
from queuectl import errors
from queuectl.cli.main import ALIASES
from queuectl.core.fields import SETTERS

SOURCE = ROOT / "src/queuectl"
# Everybody's, and where a machine keeps its name if it has no other.
OTHERS_VARIABLES = {"PATH", "HOME", "COMPUTERNAME"}
READ = re.compile(r"environ(?:\.get)?[(\[]\s*\"([A-Z][A-Z0-9_]+)\"")
PROBLEM = re.compile(r"Problem\(\s*\d+,\s*\"([a-z_]+)\"")


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def sources(folder: Path) -> Iterator[str]:
    return (path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.py")))


def is_named(option: str, text: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text) is not None


def options(text: str) -> Iterator[tuple[str, ...]]:
    """The names of each option that a module adds to a parser with a text for its help."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and any(keyword.arg == "help" for keyword in node.keywords):
            words = (word.value for word in node.args if isinstance(word, ast.Constant))
            names = tuple(word for word in words if isinstance(word, str) and word.startswith("-"))
            if names:
                yield names


def test_every_option_is_documented() -> None:
    added = {names for text in sources(SOURCE / "cli") for names in options(text)}
    assert len(added) > 100
    reference = page("docs/cli.md")
    assert sorted(names for names in added if not any(is_named(name, reference) for name in names)) == []


def test_every_other_name_of_a_command_is_documented() -> None:
    reference = page("docs/cli.md")
    assert [alias for alias in ALIASES if f"`{alias}`" not in reference] == []


def test_every_variable_that_is_read_is_documented() -> None:
    read = {name for text in sources(SOURCE) for name in READ.findall(text)}
    assert "NO_COLOR" in read
    text = "".join(page(name) for name in pages())
    assert sorted(name for name in read - OTHERS_VARIABLES if f"`{name}`" not in text) == []


def test_every_field_of_a_job_is_documented() -> None:
    rows = page("docs/python-api.md").partition("## Enqueue")[2].partition("## Wait and look")[0]
    names = set(SETTERS) - {"max_tries"}  # another word for max_attempts
    assert sorted(name for name in names if f"`{name}" not in rows) == []


def test_every_code_of_an_error_is_documented() -> None:
    own = {kind.code for kind in vars(errors).values() if isinstance(kind, type) and hasattr(kind, "code")}
    of_requests = {code for text in sources(SOURCE / "web") for code in PROBLEM.findall(text)}
    assert own
    assert of_requests
    table = page("docs/http-api.md").partition("## Errors")[2].partition("\n## ")[0]
    assert sorted(code for code in own | of_requests if f"`{code}`" not in table) == []


def test_every_event_of_the_stream_is_documented() -> None:
    [said] = re.findall(r'"description": "Events: ([a-z, ]+)"', page("src/queuectl/web/stream.py"))
    put = {name for text in sources(SOURCE / "web") for name in re.findall(r"\bput\(\"([a-z]+)\"", text)}
    events = set(said.split(", "))
    assert put <= events
    table = page("docs/http-api.md").partition("## Live events")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `([a-z]+)` \|", table, re.MULTILINE)) == events


def test_every_public_name_of_python_is_documented() -> None:
    text = page("docs/python-api.md")
    public = [name for name in queuectl.__all__ if not name.startswith("_")]
    assert [name for name in public if not is_named(name, text)] == []


def test_every_method_of_the_queue_is_documented() -> None:
    """Those that take what only the command line makes are its own."""
    own = {"defaults", "enqueue_batches", "enqueue_jobs"}
    methods = {name for name in vars(queuectl.Queue) if not name.startswith("_")} - own
    text = page("docs/python-api.md")
    assert sorted(name for name in methods if not is_named(name, text)) == []

"""Builds the table of routes in docs/http-api.md out of the program, so that the two cannot differ.

The words around it are written by hand. `--write` writes the file; `--check` fails if it is out of date;
without either the table is only printed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from queuectl.web.app import API, describe, make_routes

TARGET = Path(__file__).resolve().parent.parent / "docs/http-api.md"
BEGIN = "<!-- routes: made by tools/make_api_docs.py -->"
END = "<!-- end of routes -->"


def table() -> str:
    """All routes by what they are about, in the order of the program."""
    document = describe(make_routes())
    by_tag: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            row = _row(method.upper(), path.removeprefix(API), operation)
            by_tag.setdefault(operation["tags"][0], []).append(row)
    return "\n".join(line for tag, rows in by_tag.items() for line in _section(tag, rows))


def _section(tag: str, rows: list[str]) -> Iterator[str]:
    yield f"### {tag.capitalize()}\n"
    yield "| request | takes | does |"
    yield "|---|---|---|"
    yield from rows
    yield ""


def _row(method: str, path: str, operation: dict[str, Any]) -> str:
    names = [one["name"] for one in operation.get("parameters", ()) if one["in"] in ("query", "header")]
    content = operation.get("requestBody", {}).get("content", {})
    body = content.get("application/json", {}).get("schema", {})
    takes = ", ".join(f"`{name}`" for name in names)
    if body:
        fields = ", ".join(f"`{name}`" for name in body["properties"])
        takes += f"{'; ' if takes else ''}body: {fields}"
    return f"| `{method} {path}` | {takes} | {operation['summary'].replace('|', chr(92) + '|')} |"


def page(text: str) -> str:
    """The document with the table as it is now."""
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"{TARGET.name} has no place for the routes")
    return f"{head}{BEGIN}\n\n{table()}\n{END}{tail}"


def main(words: list[str]) -> int:
    if not words:
        sys.stdout.write(table())
        return 0
    old = TARGET.read_text(encoding="utf-8")
    new = page(old)
    if words == ["--write"]:
        TARGET.write_text(new, encoding="utf-8")
        print(f"wrote {TARGET.name}")
        return 0
    if words != ["--check"]:
        raise SystemExit("usage: make_api_docs.py [--write | --check]")
    if old != new:
        print(f"{TARGET.name} is out of date: python tools/make_api_docs.py --write", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

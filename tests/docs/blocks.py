"""The fenced blocks of the documents: where they stand, of what kind, and why one is not run.

A block may be preceded by `<!-- not run: REASON -->`. What is done with blocks is left to the tests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_FENCED = re.compile(
    r"^(?P<indent> {0,3})```(?P<kind>[\w-]*)\n(?P<body>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL
)
_MARK = re.compile(r"<!-- not run: (\S.*?) -->\n+\Z", re.DOTALL)


@dataclass(frozen=True)
class Block:
    page: str
    line: int
    kind: str
    body: str
    not_run: str | None

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"


def pages() -> list[str]:
    """Every document of the repository, as its path from the root."""
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.md")]
    return sorted(path.relative_to(ROOT).as_posix() for path in found)


def blocks_of(page: str, *kinds: str) -> list[Block]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return [block for block in _found(page, text) if not kinds or block.kind in kinds]


def _found(page: str, text: str) -> Iterator[Block]:
    for fenced in _FENCED.finditer(text):
        before = text[: fenced.start()]
        mark = _MARK.search(before)
        reason = mark[1] if mark else None
        yield Block(page, before.count("\n") + 1, fenced["kind"], fenced["body"], reason)

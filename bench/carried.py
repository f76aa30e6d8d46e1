"""Sections of an earlier bench/RESULTS.md: figures of suites that were not measured again since."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NOTE = "Carried over from an earlier report."


@dataclass(frozen=True)
class Carried:
    """A section as it stood, and what it says of targets."""

    text: str
    judged: int
    missed: list[str]  # lines of the list at the top of the page


def carried(suite: str, page: str) -> Carried | None:
    """None: the page has nothing of this suite."""
    found = re.search(rf"^## {re.escape(suite)}\n.*?(?=^## )", page, re.MULTILINE | re.DOTALL)
    if found is None:
        return None
    rows = [_cells(line) for line in found[0].splitlines() if line.startswith("| ")][2:]
    names = [cells[0] for cells in rows if cells[-1] == "**MISSED**"]
    listed = re.findall(r"^- .*, target .*$", page.partition("\n## ")[0], re.MULTILINE)
    text = found[0].rstrip()
    return Carried(
        text=(text if text.endswith(_NOTE) else f"{text} {_NOTE}") + "\n",
        judged=sum(cells[-1] in ("ok", "**MISSED**") for cells in rows),
        missed=[line for line in listed if any(line.startswith(f"- {name}: ") for name in names)],
    )


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]

"""The last run of each part, in proof/results. The report is made of them, whatever ran anew."""

from __future__ import annotations

import json
from pathlib import Path

from proof.verdict import Part

_DIRECTORY = Path(__file__).parent / "results"


def keep(part: Part) -> None:
    _DIRECTORY.mkdir(exist_ok=True)
    (_DIRECTORY / f"{part.name}.json").write_text(json.dumps(part.as_json(), indent=1), "utf-8")


def last(name: str) -> Part | None:
    file = _DIRECTORY / f"{name}.json"
    return Part.from_json(json.loads(file.read_text("utf-8"))) if file.exists() else None

"""What a suite has measured, kept in a file of JSON lines: a report can be made without measuring again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from bench.table import Result

FOLDER = Path(__file__).with_name("results")


@dataclass
class Run:
    """One run of one suite. `failed` says why there is nothing else."""

    name: str
    quick: bool
    date: str
    seconds: float = 0.0
    machine: Mapping[str, str] = field(default_factory=dict)
    contestants: Mapping[str, str] = field(default_factory=dict)  # versions of those that were installed
    noise: str = ""
    failed: str = ""
    results: list[Result] = field(default_factory=list)

    @property
    def good(self) -> bool:
        return not self.failed and all(result.good for result in self.results)


def keep(run: Run, folder: Path = FOLDER) -> None:
    """Under its name it is whole: who reads meanwhile finds the run before."""
    head = asdict(run)
    lines = [head, *head.pop("results")]
    file = _file(run.name, quick=run.quick, folder=folder)
    file.parent.mkdir(exist_ok=True)
    unfinished = file.with_suffix(".tmp")
    unfinished.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")
    unfinished.replace(file)


def last(name: str, *, quick: bool = False, folder: Path = FOLDER) -> Run | None:
    """The last run of that kind, if there was one."""
    try:
        text = _file(name, quick=quick, folder=folder).read_text("utf-8")
    except FileNotFoundError:
        return None
    head, *results = (json.loads(line) for line in text.splitlines())
    return Run(**head, results=[Result(**result) for result in results])


def _file(name: str, *, quick: bool, folder: Path) -> Path:
    return folder / f"{name}{'.quick' if quick else ''}.json"

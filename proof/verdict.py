"""What a checker found, and what a part of the proof has to say. Verdicts of several rounds add up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

MOST_TOLD = 20  # of the findings, word for word


@dataclass
class Verdict:
    """Counts of jobs and of what must never happen to them, with the first findings word for word."""

    jobs: int = 0  # acknowledged
    runs: int = 0  # commands that were really started
    again: int = 0  # of those, runs of a job that had been run before: at least once means there may be some
    # What must never be found:
    lost: int = 0
    double: int = 0  # jobs with two completions
    overlapping: int = 0  # a run that went on after the next run of the same job had begun
    beyond: int = 0  # attempts beyond the limit
    stuck: int = 0  # neither ended nor able to go on
    orphans: int = 0  # processes of jobs that nobody looks after
    zombies: int = 0
    unsound: int = 0  # contradictions in the store, or damage
    findings: list[str] = field(default_factory=list)

    NEVER = ("lost", "double", "overlapping", "beyond", "stuck", "orphans", "zombies", "unsound")

    @property
    def good(self) -> bool:
        return not any(getattr(self, name) for name in self.NEVER)

    def note(self, kind: str, text: str) -> None:
        """One of what must never be found."""
        setattr(self, kind, getattr(self, kind) + 1)
        if len(self.findings) < MOST_TOLD:
            self.findings.append(f"{kind}: {text}")

    def add(self, other: Verdict, where: str = "") -> None:
        for each in fields(self):
            if each.name != "findings":
                setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))
        told = [f"{where}: {text}" if where else text for text in other.findings]
        self.findings = [*self.findings, *told][:MOST_TOLD]


@dataclass(frozen=True)
class Row:
    """A line of the part's table in docs/reliability.md."""

    what: str
    figure: str
    bound: str = ""  # what it had to be
    good: bool = True


@dataclass
class Part:
    """What one part of the proof has shown."""

    name: str
    verdict: Verdict = field(default_factory=Verdict)
    rows: list[Row] = field(default_factory=list)
    times: dict[str, list[float]] = field(default_factory=dict)  # seconds, by what was waited for
    left_out: list[str] = field(default_factory=list)  # what this machine could not do, and why
    seconds: float = 0.0
    date: str = ""
    full: bool = False
    failed: str = ""  # it could not go on

    @property
    def good(self) -> bool:
        return not self.failed and self.verdict.good and all(row.good for row in self.rows)

    def row(self, what: str, figure: str, bound: str = "", *, good: bool = True) -> None:
        self.rows.append(Row(what, figure, bound, good))

    def demand(self, what: str, reached: int, least: int) -> None:
        """That so much of it has really happened."""
        self.row(what, f"{reached:,}", f"≥ {least:,}", good=reached >= least)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Part:
        rows: Sequence[Mapping[str, Any]] = kept["rows"]
        return cls(**{**kept, "verdict": Verdict(**kept["verdict"]), "rows": [Row(**row) for row in rows]})

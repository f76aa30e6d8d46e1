"""Results as one table."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

STATED = "stated"  # the target of a figure for which nothing was promised


@dataclass
class Result:
    """One figure, what it is measured against, and whether that is good enough. No values: not measured."""

    what: str
    values: Sequence[float]
    unit: str
    _: KW_ONLY
    target: str
    good: bool
    peer: str = ""
    peer_values: Sequence[float] = ()
    ratio: float | None = None
    size: int | None = None  # jobs in the store meanwhile, where that is what is varied

    def __post_init__(self) -> None:
        self.values = list(self.values)
        self.peer_values = list(self.peer_values)

    @property
    def verdict(self) -> str:
        if not self.values:
            return "NOT MEASURED"
        if self.target == STATED:
            return ""
        return "ok" if self.good else "MISSED"


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def number(value: float) -> str:
    if abs(value) >= 100 or float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def _figure(values: Sequence[float], unit: str) -> str:
    if not values:
        return ""
    middle = median(values)
    spread = f" ±{(max(values) - min(values)) / 2 / middle * 100:.0f}%" if len(values) > 1 and middle else ""
    return f"{number(middle)} {unit}{spread}".strip()


def print_table(results: Sequence[Result]) -> None:
    header = ("measured", "queuectl", "peer", "ratio", "target", "")
    rows = [
        (
            result.what,
            _figure(result.values, result.unit),
            f"{result.peer} {_figure(result.peer_values, result.unit)}".strip(),
            "" if result.ratio is None else f"{result.ratio:.2f}",
            result.target,
            result.verdict,
        )
        for result in results
    ]
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    for row in [header, *rows]:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())

"""Results as one table."""

from __future__ import annotations

import statistics
from collections.abc import Sequence


class Result:
    """One figure, what it is measured against, and whether that is good enough."""

    def __init__(
        self,
        what: str,
        values: Sequence[float],
        unit: str,
        *,
        target: str,
        good: bool,
        peer: str = "",
        peer_values: Sequence[float] = (),
        ratio: float | None = None,
    ) -> None:
        self.what = what
        self.values = values
        self.unit = unit
        self.target = target
        self.good = good
        self.peer = peer
        self.peer_values = peer_values
        self.ratio = ratio


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def _figure(values: Sequence[float], unit: str) -> str:
    if not values:
        return ""
    middle = median(values)
    text = f"{middle:,.0f}" if middle >= 100 else f"{middle:.2f}"
    spread = f" ±{(max(values) - min(values)) / 2 / middle * 100:.0f}%" if len(values) > 1 and middle else ""
    return f"{text} {unit}{spread}"


def print_table(results: Sequence[Result]) -> None:
    header = ("measured", "queuectl", "peer", "ratio", "target", "")
    rows = [
        (
            result.what,
            _figure(result.values, result.unit),
            f"{result.peer} {_figure(result.peer_values, result.unit)}".strip(),
            "" if result.ratio is None else f"{result.ratio:.2f}",
            result.target,
            "ok" if result.good else "MISSED",
        )
        for result in results
    ]
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    for row in [header, *rows]:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())

"""Results judged by one bound: at most, at least, or only stated because nothing was promised."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bench.table import STATED, Result, median


def at_least(what: str, values: Sequence[float], unit: str, bound: float) -> Result:
    return Result(what, values, unit, target=f"≥ {bound:,g}", good=median(values) >= bound)


def at_most(what: str, values: Sequence[float], unit: str, bound: float) -> Result:
    return Result(what, values, unit, target=f"≤ {bound:,g}", good=median(values) <= bound)


def stated(what: str, values: Sequence[float], unit: str) -> Result:
    return Result(what, values, unit, target=STATED, good=True)


def compared(
    what: str, values: Sequence[float], unit: str, *, peer: str, peer_values: Sequence[float], most: float
) -> Result:
    """The ratio of the medians may be at most so much."""
    ratio = median(values) / median(peer_values)
    return Result(
        what,
        values,
        unit,
        peer=peer,
        peer_values=peer_values,
        ratio=ratio,
        target=f"≤ {most:g} ×",
        good=ratio <= most,
    )


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that so large a share of them does not exceed."""
    return sorted(values)[math.ceil(len(values) * share) - 1]

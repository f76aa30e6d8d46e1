"""How far one store reaches: a simulation driven by measured costs, checked against real runs.

`python -m bench simulation` measures, checks, and writes the figures of docs/scaling.md and its picture.
`python -m bench.simulation` only draws them again, from what was measured last.
"""

from __future__ import annotations

from bench.table import Result


def measure(*, quick: bool = False) -> list[Result]:
    from bench.simulation import study

    return study.measure(quick=quick)

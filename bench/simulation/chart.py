"""The curves as a picture: jobs per second over worker processes, a panel for each length of jobs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from bench.simulation.curves import SIZES, Point
from bench.svg import Picture
from bench.table import number

_WIDTH, _HEIGHT, _TOP = 300, 270, 100


def draw(curves: Mapping[str, Mapping[str, Sequence[Point]]]) -> str:
    engines = list(next(iter(curves.values())))
    picture = Picture(
        24 + _WIDTH * len(curves),
        _TOP + _HEIGHT,
        title="Simulated: jobs per second over worker processes",
        story=" ".join(_told(length, of) for length, of in curves.items()),
    )
    picture.text(24, 32, "Simulated: jobs per second over worker processes", size=17, bold=True)
    picture.text(
        24,
        53,
        "up to 10,000 on 1,000 machines, one store; both axes logarithmic; thin: no limits",
        ink="faint",
    )
    for series, engine in enumerate(engines):
        picture.mark(30 + series * 120, 76, series=series)
        picture.text(42 + series * 120, 81, engine)
    for place, (length, of) in enumerate(curves.items()):
        _panel(picture, length, of, x=place * _WIDTH)
    return picture.drawn()


def _told(length: str, of: Mapping[str, Sequence[Point]]) -> str:
    lines = (
        f"{engine} "
        + ", ".join(f"{number(one.figures.jobs_per_second)} with {one.workers:,}" for one in points)
        for engine, points in of.items()
    )
    return f"Jobs of {length}: {'; '.join(lines)}."


def _panel(picture: Picture, length: str, of: Mapping[str, Sequence[Point]], *, x: int) -> None:
    left, right, above, below = x + 76, x + _WIDTH, _TOP + 36, _TOP + 216
    ideal = [rate * workers for workers in SIZES] if (rate := _alone(of)) else []
    values = [one.figures.jobs_per_second for points in of.values() for one in points]
    low = math.floor(math.log10(min(value for value in values if value > 0)))
    high = math.ceil(math.log10(max(*values, ideal[-1])))

    def across(workers: float) -> float:
        return left + (right - left - 20) * math.log10(workers) / math.log10(SIZES[-1])

    def up(value: float) -> float:
        return below - (below - above) * (math.log10(max(value, 10.0**low)) - low) / (high - low)

    picture.text(x + 24, _TOP + 18, f"Jobs of {length}", bold=True)
    for decade in range(low, high + 1):
        picture.line([(left, up(10.0**decade)), (right, up(10.0**decade))], ink="rule")
        picture.text(left - 8, up(10.0**decade) + 4, f"{10.0**decade:,g}", ink="faint", size=11, at="end")
    for decade in range(round(math.log10(SIZES[-1])) + 1):
        picture.text(across(10**decade), below + 19, f"{10**decade:,}", ink="faint", size=11, at="middle")
    picture.line([(across(size), up(value)) for size, value in zip(SIZES, ideal, strict=True)], ink="whisker")
    for series, points in enumerate(of.values()):
        places = [(across(one.workers), up(one.figures.jobs_per_second)) for one in points]
        picture.line(places, ink=f"path{series}", width=2)
        for place in places:
            picture.mark(*place, series=series)


def _alone(of: Mapping[str, Sequence[Point]]) -> float:
    """What one worker does."""
    return max(points[0].figures.jobs_per_second / points[0].workers for points in of.values())

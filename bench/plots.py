"""The two pictures of the first page: queuectl beside the contestants, and what growth of the store costs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from bench.places import MARIADB, POSTGRES, SQLITE
from bench.svg import Picture
from bench.table import Result, median, number

RACE = "commands/s end to end, sh -c 'true'"  # how results begin that are of one race
_ENGINES = (SQLITE, POSTGRES, MARIADB)
_PANELS = {
    "claim": "Claim of a batch",
    "throughput": "Throughput",
    "status": "queuectl status",
    "list": "A page of queuectl list",
}


_LEAST = 0.001  # a logarithm knows no zero


class _Bar(NamedTuple):
    name: str
    values: Sequence[float]
    ratio: float | None = None  # of queuectl to it

    @property
    def middle(self) -> float:
        return median(self.values)


def throughput(results: Sequence[Result]) -> str | None:
    """Commands per second as bars, fastest first. None if nobody has been measured."""
    race = [
        result for result in results if result.what.startswith(RACE) and result.values and result.peer_values
    ]
    if not race:
        return None
    # Of several results against the same peer the first is the one that was promised.
    peers = {result.peer: _Bar(result.peer, result.peer_values, result.ratio) for result in reversed(race)}
    ours = _Bar("queuectl", race[0].values)
    return _bars(sorted([ours, *peers.values()], key=lambda bar: -bar.middle), len(ours.values))


def _bars(bars: Sequence[_Bar], rounds: int) -> str:
    told = ", ".join(f"{bar.name} {number(bar.middle)}" for bar in bars)
    picture = Picture(
        760,
        96 + 30 * len(bars),
        title="Commands per second of queuectl and of its peers",
        story=f"Bars, the fastest first; medians of {rounds} rounds: {told}.",
    )
    under = f"sh -c true, two at a time; medians of {rounds} rounds, thin lines: spread"
    picture.text(24, 32, "Commands per second, end to end", size=17, bold=True)
    picture.text(24, 53, under, ink="faint")
    picture.text(736, 53, "queuectl against it", ink="faint", at="end")
    longest = max(max(bar.values) for bar in bars)
    for place, bar in enumerate(bars):
        _draw_bar(picture, bar, y=76 + 30 * place, scale=394 / longest)
    return picture.drawn()


def _draw_bar(picture: Picture, bar: _Bar, *, y: int, scale: float) -> None:
    left = 226
    mine = bar.name == "queuectl"
    ends = [left + value * scale for value in (min(bar.values), max(bar.values))]
    picture.text(left - 12, y + 18, bar.name, at="end", bold=mine)
    picture.bar(left, y + 4, max(bar.middle * scale, 1), 20, ink="ours" if mine else "theirs")
    picture.line([(end, y + 14) for end in ends], ink="whisker", width=1.5)
    picture.text(ends[1] + 10, y + 18, number(bar.middle), bold=mine)
    if bar.ratio is not None:
        told = f"{bar.ratio:.2f} ×" if bar.ratio < 2 else f"{bar.ratio:.1f} ×"
        picture.text(736, y + 18, told, ink="faint", at="end")


class _Line(NamedTuple):
    engine: str
    points: Sequence[tuple[int, float]]  # jobs in the store, median


class _Panel(NamedTuple):
    name: str
    unit: str
    lines: Sequence[_Line]

    @property
    def told(self) -> str:
        lines = (
            f"{line.engine} " + ", ".join(f"{number(value)} at {size:,} jobs" for size, value in line.points)
            for line in self.lines
        )
        return f"{self.name} ({self.unit}): {'; '.join(lines)}."


def growth(results: Sequence[Result]) -> str | None:
    """Four panels over the number of jobs in the store, both axes logarithmic."""
    panels = [panel for kind, name in _PANELS.items() if (panel := _panel(kind, name, results)).lines]
    if not panels:
        return None
    width, height, top = 380, 235, 92
    picture = Picture(
        2 * width,
        top + height * math.ceil(len(panels) / 2) + 8,
        title="What it costs when the store grows",
        story=" ".join(panel.told for panel in panels),
    )
    picture.text(24, 32, "While the store grows", size=17, bold=True)
    picture.text(
        24, 53, "by the number of jobs in it; medians, both axes logarithmic: flat is good", ink="faint"
    )
    shown = [
        engine
        for engine in _ENGINES
        if any(engine == line.engine for panel in panels for line in panel.lines)
    ]
    for place, engine in enumerate(shown):
        picture.mark(30 + place * 120, 76, series=_ENGINES.index(engine))
        picture.text(42 + place * 120, 81, engine)
    for place, panel in enumerate(panels):
        _draw(picture, panel, x=place % 2 * width, y=top + place // 2 * height)
    return picture.drawn()


def _panel(kind: str, name: str, results: Sequence[Result]) -> _Panel:
    """Of several results for the same engine and size the first is the one that was promised."""
    ours = [result for result in results if result.size and result.values and result.what.startswith(kind)]
    lines = []
    for engine in _ENGINES:
        points = {
            result.size or 0: max(median(result.values), _LEAST)
            for result in reversed(ours)
            if engine in result.what
        }
        if points:
            lines.append(_Line(engine, sorted(points.items())))
    return _Panel(name, ours[0].unit if ours else "", lines)


def _draw(picture: Picture, panel: _Panel, *, x: int, y: int) -> None:
    left, right, above, below = x + 66, x + 356, y + 46, y + 192
    sizes = sorted({size for line in panel.lines for size, _ in line.points})
    across = _Scale(sizes[0], sizes[-1], left + 14, right - 14)
    ticks = _ticks([value for line in panel.lines for _, value in line.points])
    up = _Scale(ticks[0], ticks[-1], below, above)
    picture.text(x + 24, y + 28, panel.name, bold=True)
    picture.text(right, y + 28, panel.unit, ink="faint", at="end", size=12)
    for tick in ticks:
        picture.line([(left, up(tick)), (right, up(tick))], ink="rule")
        picture.text(left - 8, up(tick) + 4, f"{tick:,g}", ink="faint", size=11, at="end")
    for size in sizes:
        picture.text(across(size), below + 19, _short(size), ink="faint", size=11, at="middle")
    for line in panel.lines:
        series = _ENGINES.index(line.engine)
        points = [(across(size), up(value)) for size, value in line.points]
        picture.line(points, ink=f"path{series}", width=2)
        for point in points:
            picture.mark(*point, series=series)


class _Scale:
    """Logarithmic, from a range of values to one of places."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        self._low = math.log10(low)
        self._span = math.log10(high) - self._low or 1
        self._start = start
        self._length = end - start

    def __call__(self, value: float) -> float:
        return self._start + (math.log10(value) - self._low) / self._span * self._length


def _ticks(values: Sequence[float]) -> list[float]:
    """Round numbers around the values; at least a decade, so that noise does not look like growth."""
    low, high = math.log10(min(values)), math.log10(max(values))
    if high - low < 1:
        low, high = (low + high - 1) / 2, (low + high + 1) / 2
    steps = [1.0, 2.0, 5.0] if high - low < 2.5 else [1.0]
    decades = range(math.floor(low), math.ceil(high) + 1)
    rounds = [step * 10.0**decade for decade in decades for step in steps]
    start = max((tick for tick in rounds if math.log10(tick) <= low), default=rounds[0])
    end = min((tick for tick in rounds if math.log10(tick) >= high), default=rounds[-1])
    return [tick for tick in rounds if start <= tick <= end]


def _short(size: int) -> str:
    return f"{size / 1e6:g} million" if size >= 1_000_000 else f"{size:,}"

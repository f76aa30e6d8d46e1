"""The pictures: well-formed, and true to the figures."""

from __future__ import annotations

from xml.etree import ElementTree

from bench.plots import RACE, growth, throughput
from bench.table import Result

SVG = "{http://www.w3.org/2000/svg}"
SIZES = (10_000, 1_000_000, 10_000_000)


def race(peer: str, rate: float, *, ours: float = 1500.0, more: str = ", 2 slots") -> Result:
    return Result(
        RACE + more,
        [ours, ours * 1.1, ours * 0.9],
        "/s",
        peer=peer,
        peer_values=[rate, rate * 1.1, rate * 0.9],
        ratio=ours / rate,
        target="≥ 1.0 ×",
        good=ours >= rate,
    )


def grown(kind: str, engine: str, size: int, value: float, unit: str = "ms") -> Result:
    return Result(f"{kind} on {engine}", [value], unit, target="≤ 100", good=True, size=size)


def drawn(picture: str | None) -> ElementTree.Element:
    assert picture is not None
    return ElementTree.fromstring(picture)


def texts(root: ElementTree.Element) -> list[str]:
    return [element.text or "" for element in root.iter(SVG + "text")]


def bars(root: ElementTree.Element, ink: str) -> list[float]:
    return [float(bar.get("width") or 0) for bar in root.iter(SVG + "rect") if bar.get("class") == ink]


def test_everybody_has_a_bar_as_long_as_fast() -> None:
    root = drawn(throughput([race("xargs -P2", 1500), race("nq", 300), race("a < b & c", 150)]))
    (mine,) = bars(root, "ours")
    assert [round(mine / width) for width in bars(root, "theirs")] == [1, 5, 10]
    shown = texts(root)
    assert {"queuectl", "xargs -P2", "nq", "a < b & c", "1,500", "300", "5.0 ×", "1.00 ×"} <= set(shown)


def heights(root: ElementTree.Element) -> list[float]:
    (line,) = (line for line in root.iter(SVG + "polyline") if line.get("class") == "path0")
    return [float(point.split(",")[1]) for point in (line.get("points") or "").split()]


def test_the_axis_is_logarithmic_and_more_is_higher() -> None:
    results = [grown("claim", "SQLite", size, value) for size, value in zip(SIZES, (1, 10, 100), strict=True)]
    first, second, third = heights(drawn(growth(results)))
    assert first > second > third  # y grows downwards
    assert abs((first - second) - (second - third)) < 0.2

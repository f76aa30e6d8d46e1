"""The pictures: well-formed, true to the figures, and readable for those who cannot see them."""

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


def spoken(root: ElementTree.Element) -> str:
    assert root.get("role") == "img"
    named = (root.get("aria-labelledby") or "").split()
    parts = [element for element in root if element.get("id") in named]
    assert [part.tag for part in parts] == [SVG + "title", SVG + "desc"]
    return " ".join(part.text or "" for part in parts)


def bars(root: ElementTree.Element, ink: str) -> list[float]:
    return [float(bar.get("width") or 0) for bar in root.iter(SVG + "rect") if bar.get("class") == ink]


def test_everybody_has_a_bar_as_long_as_fast() -> None:
    root = drawn(throughput([race("xargs -P2", 1500), race("nq", 300), race("a < b & c", 150)]))
    (mine,) = bars(root, "ours")
    assert [round(mine / width) for width in bars(root, "theirs")] == [1, 5, 10]
    shown = texts(root)
    assert {"queuectl", "xargs -P2", "nq", "a < b & c", "1,500", "300", "5.0 ×", "1.00 ×"} <= set(shown)


def test_the_fastest_comes_first_even_if_that_is_somebody_else() -> None:
    shown = texts(drawn(throughput([race("nq", 300), race("xargs -P2", 3000)])))
    assert shown.index("xargs -P2") < shown.index("queuectl") < shown.index("nq")
    assert "0.50 ×" in shown


def test_other_ways_to_run_it_are_another_race() -> None:
    root = drawn(throughput([race("xargs -P2", 1000), race("xargs -P2", 9000, more=", 64 slots")]))
    assert len(bars(root, "theirs")) == 1
    assert "1,000" in texts(root)


def test_a_contestant_that_could_not_be_had_has_no_bar() -> None:
    absent = Result(RACE + " against nq", [], "", target="not installed", good=False)
    assert len(bars(drawn(throughput([race("xargs -P2", 1000), absent])), "theirs")) == 1
    assert throughput([absent]) is None


def test_growth_has_a_panel_for_each_question_and_a_line_for_each_engine() -> None:
    results = [
        grown(kind, engine, size, 5.0 * (place + 1))
        for kind in ("claim of 20", "throughput", "status", "list, its first page,")
        for place, engine in enumerate(("SQLite", "PostgreSQL", "MariaDB"))
        for size in SIZES
    ]
    root = drawn(growth(results))
    shown = texts(root)
    assert {"Claim of a batch", "Throughput", "queuectl status", "A page of queuectl list"} <= set(shown)
    assert {"SQLite", "PostgreSQL", "MariaDB", "10,000", "1 million", "10 million"} <= set(shown)
    lines = [line for line in root.iter(SVG + "polyline") if (line.get("class") or "").startswith("path")]
    assert len(lines) == 4 * 3


def heights(root: ElementTree.Element) -> list[float]:
    (line,) = (line for line in root.iter(SVG + "polyline") if line.get("class") == "path0")
    return [float(point.split(",")[1]) for point in (line.get("points") or "").split()]


def test_the_axis_is_logarithmic_and_more_is_higher() -> None:
    results = [grown("claim", "SQLite", size, value) for size, value in zip(SIZES, (1, 10, 100), strict=True)]
    first, second, third = heights(drawn(growth(results)))
    assert first > second > third  # y grows downwards
    assert abs((first - second) - (second - third)) < 0.2


def test_of_several_results_for_a_point_the_first_counts() -> None:
    results = [grown("claim", "SQLite", size, 2.0) for size in SIZES]
    late = [grown("claim, later,", "SQLite", size, 50.0) for size in SIZES]
    assert growth(results + late) == growth(results)


def test_what_takes_no_time_at_all_can_be_drawn() -> None:
    assert heights(drawn(growth([grown("status", "SQLite", size, 0.0) for size in SIZES])))


def test_without_sizes_there_is_no_growth_to_show() -> None:
    assert growth([race("nq", 300)]) is None


def test_the_figures_are_there_in_words() -> None:
    assert "queuectl 1,500, nq 300" in spoken(drawn(throughput([race("nq", 300)])))
    picture = drawn(growth([grown("claim", "MariaDB", size, 4.5) for size in SIZES]))
    assert "MariaDB 4.50 at 10,000 jobs, 4.50 at 1,000,000 jobs" in spoken(picture)


def test_a_picture_has_colours_for_light_and_for_dark_pages_and_its_own_ground() -> None:
    picture = throughput([race("nq", 300)])
    assert picture is not None
    light, dark = picture.split("@media (prefers-color-scheme: dark)")
    assert ".ground { fill: #ffffff }" in light
    assert ".ground { fill: #0d1117 }" in dark
    used = {element.get("class") for element in drawn(picture).iter() if element.get("class")}
    assert all(f".{name} {{" in light and f".{name} {{" in dark for name in used)

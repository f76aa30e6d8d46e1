"""What becomes of measurements: straight lines, tables, and a page that is filled with them."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from xml.etree import ElementTree

import pytest
from bench.simulation import chart, page, study
from bench.simulation.check import Outcome, Trial
from bench.simulation.costs import Line, fit, from_json
from bench.simulation.curves import CARRIED, Point, carried, curve, site
from bench.simulation.model import Figures
from tests.bench.sample_costs import BUSY_FILE, BUSY_SERVER, FILE, SERVER

FIGURES = Figures(
    jobs_per_second=12.0,
    slots_busy=0.5,
    cores_busy=0.1,
    store_busy=0.2,
    busiest="the log",
    jobs_an_exchange=3.0,
    wait=0.001,
    long_wait=0.002,
)


def test_a_line_goes_through_points_that_lie_on_one() -> None:
    line = fit({count: [0.002 + 0.0001 * count] * 3 for count in (1, 8, 128)})
    assert line.fixed == pytest.approx(0.002)
    assert line.each == pytest.approx(0.0001)


def test_a_line_is_as_close_to_few_as_to_many_in_proportion() -> None:
    line = fit({1: [0.001, 0.0012], 100: [0.1, 0.12]})
    assert line.at(1) == pytest.approx(0.0011, rel=0.05)
    assert line.at(100) == pytest.approx(0.11, rel=0.05)


def test_a_line_never_falls_and_of_one_point_it_is_flat() -> None:
    assert fit({1: [0.002], 10: [0.001]}).each == 0.0
    assert fit({0: [0.001, 0.003]}).each == 0.0
    assert fit({0: [0.0]}) == Line(0.0)


def test_costs_are_the_same_after_they_were_kept() -> None:
    for costs in (FILE, SERVER, BUSY_FILE, BUSY_SERVER):
        assert from_json(json.loads(json.dumps(asdict(costs)))) == costs


def test_a_page_is_filled_again_and_again() -> None:
    text = "before\n<!-- simulation: costs -->\nold\n<!-- end -->\nafter\n"
    once = page.fill(text, {"costs": "| new |"})
    assert once == "before\n<!-- simulation: costs -->\n\n| new |\n\n<!-- end -->\nafter\n"
    assert page.fill(once, {"costs": "| new |"}) == once


def test_a_page_that_lacks_a_block_is_an_error() -> None:
    with pytest.raises(ValueError, match="costs"):
        page.fill("nothing to fill", {"costs": "x"})


def test_the_page_has_all_its_blocks_and_they_are_filled() -> None:
    text = study.PAGE.read_text("utf-8")
    names = [match[2] for match in page._BLOCK.finditer(text)]
    blocks = dict.fromkeys(("machine", "costs", "checks", "limits", "curves", "fleets", "ways"), "| x |")
    assert sorted(names) == sorted(blocks)
    assert page.fill(text, blocks).count("| x |") == len(blocks)
    assert "-->\n<!-- end" not in text


def test_how_far_it_was_off_is_said() -> None:
    trial = Trial(processes=4, jobs=100, batch=10)
    outcomes = [
        Outcome("PostgreSQL", trial, simulated=150.0, real=[90.0, 100.0, 130.0]),
        Outcome("MariaDB", trial, simulated=90.0, real=[100.0] * 3),
    ]
    said = page.checks(outcomes, ["MariaDB, too many"])
    assert "claim + finish, batches of 10, 4 processes | 100 / 150 (+50 %) | 100 / 90 (-10 %) |" in said
    assert "Off by 30 % in the middle, 50 % at worst (2 trials, 3 of each)." in said
    assert "Not tried: MariaDB, too many." in said


def test_a_fleet_costs_connections_and_heartbeats() -> None:
    said = page.fleets([replace(BUSY_SERVER, engine="PostgreSQL")])
    assert "| connections | 200 | 2,000 | 20,000 |" in said
    assert "| heartbeats (commits) a second | 20 | 200 | 2,000 |" in said


def test_a_limit_is_where_workers_begin_to_hinder_each_other() -> None:
    slow = replace(BUSY_SERVER, exchange=replace(BUSY_SERVER.exchange, server=Line(0.4)))
    points = curve(slow, 1.0, sizes=(1, 10, 30, 100))
    last, bad = carried(slow, 1.0, points)
    alone = points[0].figures.jobs_per_second
    assert bad is not None
    # Sixteen cores do forty exchanges a second, and each is one job.
    assert last.workers < bad.workers <= 100
    assert last.figures.jobs_per_second >= CARRIED * alone * last.workers
    assert points[-1].figures.jobs_per_second == pytest.approx(16 / 0.4, rel=0.1)


def test_a_file_stays_on_its_machine_and_a_server_has_its_own() -> None:
    assert site(FILE, 300).machines == 1
    assert site(FILE, 300).store_cores is None
    assert site(SERVER, 300).machines == 30
    assert site(SERVER, 300).store_cores is not None


def test_late_heartbeats_are_marked() -> None:
    late = Point(10, 1, FIGURES, hearts=1.2)
    assert page._cell(late).endswith("†")
    assert not page._cell(Point(10, 1, FIGURES, hearts=0.1)).endswith("†")


def test_the_picture_is_one_and_tells_its_figures() -> None:
    points = [Point(1, 1, FIGURES, 0.1), Point(100, 10, replace(FIGURES, jobs_per_second=1200.0), 0.2)]
    drawn = chart.draw({"1 s": {"SQLite": points, "PostgreSQL": points}})
    ElementTree.fromstring(drawn)
    assert "SQLite 12 with 1, 1,200 with 100" in drawn

"""What becomes of measurements: straight lines, tables, and a page that is filled with them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from bench.simulation import page, study
from bench.simulation.costs import Line, fit
from bench.simulation.curves import CARRIED, carried, curve
from bench.simulation.model import Figures
from tests.bench.sample_costs import BUSY_SERVER

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


def test_a_line_is_as_close_to_few_as_to_many_in_proportion() -> None:
    line = fit({1: [0.001, 0.0012], 100: [0.1, 0.12]})
    assert line.at(1) == pytest.approx(0.0011, rel=0.05)
    assert line.at(100) == pytest.approx(0.11, rel=0.05)


def test_the_page_has_all_its_blocks_and_they_are_filled() -> None:
    text = study.PAGE.read_text("utf-8")
    names = [match[2] for match in page._BLOCK.finditer(text)]
    blocks = dict.fromkeys(("machine", "costs", "checks", "limits", "curves", "fleets", "ways"), "| x |")
    assert sorted(names) == sorted(blocks)
    assert page.fill(text, blocks).count("| x |") == len(blocks)
    assert "-->\n<!-- end" not in text


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

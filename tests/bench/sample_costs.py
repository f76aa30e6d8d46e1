"""Costs that nobody has measured: some that are easy to reckon with, some much as real ones."""

from __future__ import annotations

from dataclasses import replace

from bench.simulation.costs import Costs, Line, Work

NOTHING = Work(Line(0.0), Line(0.0))
FILE = Costs(
    "a file",
    exchange=Work(Line(0.005, 0.001), Line(0.0)),
    beat=NOTHING,
    upkeep=NOTHING,
    poll=NOTHING,
    look=NOTHING,
    enqueue=NOTHING,
    skip=0.0,
    remains=0.0,
    background=Line(0.0),
    between=Line(0.0),
    flush=Line(0.0),
    trip=0.0,
    start=0.01,
    command=0.02,
)
SERVER = replace(
    FILE,
    engine="a server",
    exchange=Work(Line(0.005, 0.001), Line(0.002, 0.0005), trips=9),
    trip=0.001,
)
BUSY_FILE = replace(
    FILE,
    exchange=Work(Line(0.0004, 0.00002), Line(0.0)),
    beat=Work(Line(0.0001), Line(0.0)),
    upkeep=Work(Line(0.0003, 0.0001), Line(0.0)),
    flush=Line(0.0002),
    start=0.0005,
    command=0.002,
)
BUSY_SERVER = replace(
    BUSY_FILE,
    exchange=Work(Line(0.001, 0.00002), Line(0.001, 0.00005), trips=9),
    beat=Work(Line(0.0005), Line(0.0005), trips=6),
    upkeep=Work(Line(0.001, 0.00005), Line(0.0005, 0.000001), trips=4),
    poll=Work(Line(0.0), Line(0.00003), trips=1),
    enqueue=Work(Line(0.0), Line(0.001, 0.00001)),
    skip=0.000002,
    trip=0.00005,
)

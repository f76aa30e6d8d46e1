"""Claim time on a table with millions of jobs against an almost empty one, on all engines."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

from bench import filling
from bench.claimers import Claimer
from bench.places import SERVERS, SQLITE, Place, found, fresh_place, not_measured
from bench.plans import surprises
from bench.table import Result, median

ROWS = 7_000_000
BATCH = 20
_WARM_UP = 50
_BYTES_A_ROW = 1_500  # with its indexes, its attempt and the server's log


def measure(*, rows: int = ROWS, claims: int = 200) -> list[Result]:
    servers = found()
    results = []
    for engine in (SQLITE, *SERVERS):
        what = f"claim of {BATCH} among {_short(rows)} jobs on {engine}"
        lacking = _lacking_room(rows) if engine in (SQLITE, *servers) else "no server"
        results += [not_measured(what, lacking)] if lacking else _grow(engine, servers, what, rows, claims)
    return results


def _grow(engine: str, servers: dict[str, str], what: str, rows: int, claims: int) -> list[Result]:
    with (
        fresh_place(engine, servers) as small,
        fresh_place(engine, servers) as large,
        _claimer(small) as few,
        _claimer(large) as many,
    ):
        for place, claimer in ((small, few), (large, many)):
            _warm_up(place, claimer)
        _fill(small, rows=0, claims=2 * claims + 1)
        _fill(large, rows=rows, claims=2 * claims + 1)
        early = _alternate(few, many, claims)
        for place in (small, large):
            _settle(place)
        late = _alternate(few, many, claims)
        odd = surprises(many, engine)
    for line in odd:
        print(f"*** {line}", file=sys.stderr)
    return [
        _compared(what, late),
        _compared("… by statistics of when it was empty", early),
        Result("… sorts and full scans in its plans", [len(odd)], "", target="0", good=not odd),
    ]


def _compared(what: str, times: tuple[list[float], list[float]]) -> Result:
    few, many = times
    ratio = median(many) / median(few)
    return Result(
        what,
        many,
        "ms",
        peer="few jobs",
        peer_values=few,
        ratio=ratio,
        target="≤ 2.0",
        good=ratio <= 2.0,
    )


def _warm_up(place: Place, claimer: Claimer) -> None:
    """Until statements are prepared: workers are there before the jobs, and their plans may be old ones."""
    filling.let_age(claimer.queue, place.engine)
    for _ in range(_WARM_UP):
        claimer.exchange()


def _fill(place: Place, *, rows: int, claims: int) -> None:
    began = time.monotonic()
    with place.queue() as queue:
        filling.everything(queue, rows)
        filling.pending(queue, claims * BATCH)
    if rows:
        seconds = time.monotonic() - began
        print(f"  {place.engine}: {rows:,} jobs filled in within {seconds:.0f} s", file=sys.stderr)


def _settle(place: Place) -> None:
    with place.queue() as queue:
        filling.settle(queue, place.engine)


@contextmanager
def _claimer(place: Place) -> Iterator[Claimer]:
    with place.queue() as queue:
        claimer = Claimer(queue, BATCH)
        try:
            yield claimer
        finally:
            claimer.close()


def _alternate(few: Claimer, many: Claimer, claims: int) -> tuple[list[float], list[float]]:
    """Milliseconds of each claim, in turn: whatever disturbs the machine disturbs both."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(claims):
        for claimer, values in zip((few, many), times, strict=True):
            jobs = claimer.exchange()
            assert len(jobs) == BATCH, f"{len(jobs)} of {BATCH} claimed"
            values.append(claimer.seconds * 1000)
    return times


def _lacking_room(rows: int) -> str:
    """Why it is not tried. Servers keep their data where we cannot look; here they are on the same disk."""
    free = shutil.disk_usage(tempfile.gettempdir()).free
    needed = rows * _BYTES_A_ROW
    return "" if free > 2 * needed else f"needs {2 * needed / 1e9:.0f} GB free, there are {free / 1e9:.0f}"


def _short(rows: int) -> str:
    return f"{rows / 1e6:g} million" if rows >= 1_000_000 else f"{rows:,}"

"""The machine that is measured on: what it is, which versions are on it, and how steady it was meanwhile."""

from __future__ import annotations

import os
import platform
import re
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from importlib import metadata

import apsw

from bench import places
from bench.table import median, number

_PROBES = 25


@cache
def facts() -> dict[str, str]:
    """In the order in which a reader wants them."""
    return {
        "cores": str(os.cpu_count()),
        "CPU": _first(r"model name\s*: (.+)", "/proc/cpuinfo") or platform.processor() or platform.machine(),
        "memory": _memory(),
        "kernel": f"{platform.system()} {platform.release()}",
        "Python": platform.python_version(),
        "SQLite": f"{apsw.sqlite_lib_version()} (apsw {apsw.apsw_version()})",
        "queuectl": metadata.version("queuectl"),
        **_servers(),
    }


def contestants() -> dict[str, str]:
    """The versions of those that are installed; a suite may have installed some."""
    try:
        from bench import contestants

        return contestants.versions()
    except Exception as error:
        print(f"*** the contestants' versions are unknown: {error}", file=sys.stderr)
        return {}


def _first(pattern: str, file: str) -> str:
    try:
        with open(file, encoding="utf-8") as text:
            found = re.search(pattern, text.read())
    except OSError:  # not on this system
        return ""
    return found[1].strip() if found else ""


def _memory() -> str:
    kilobytes = _first(r"MemTotal:\s+(\d+) kB", "/proc/meminfo")
    return f"{int(kilobytes) / 2**20:.1f} GiB" if kilobytes else "unknown"


def _servers() -> dict[str, str]:
    return {engine: places.version(url) for engine, url in places.found().items()}


class Steadiness:
    """Before and after a suite the same small pieces of work are timed; that is how noise is known."""

    def __init__(self) -> None:
        self._computing: list[float] = []
        self._syncing: list[float] = []
        self._load = _load()
        self._stolen = _stolen()
        self._probe()

    def _probe(self) -> None:
        self._computing += _times(lambda: sum(range(100_000)))
        with tempfile.TemporaryFile(buffering=0) as file:

            def sync() -> None:
                file.write(bytes(4096))
                os.fsync(file.fileno())

            self._syncing += _times(sync)

    def told(self) -> str:
        self._probe()
        stolen, total = (after - before for after, before in zip(_stolen(), self._stolen, strict=True))
        return (
            f"load {self._load} before and {_load()} after, "
            f"a piece of computing ±{_spread(self._computing)}, "
            f"an fsync {number(median(self._syncing))} ms ±{_spread(self._syncing)}, "
            f"{100 * stolen / total if total else 0:.1f}% of the CPU taken by other machines"
        )


def _times(work: Callable[[], object]) -> list[float]:
    """Milliseconds."""
    times = []
    for _ in range(_PROBES):
        began = time.perf_counter()
        work()
        times.append((time.perf_counter() - began) * 1000)
    return times


def _spread(values: list[float]) -> str:
    """Of the middle four fifths: a single hiccup is no noise."""
    ordered = sorted(values)
    edge = len(ordered) // 10
    return f"{(ordered[-1 - edge] - ordered[edge]) / 2 / median(ordered) * 100:.0f}%"


def _load() -> str:
    return f"{os.getloadavg()[0]:.1f}"


def _stolen() -> tuple[int, int]:
    """Ticks that a hypervisor gave to others, and all."""
    ticks = [int(word) for word in _first(r"cpu +(.+)", "/proc/stat").split()]
    return (ticks[7], sum(ticks[:8])) if len(ticks) > 7 else (0, 0)

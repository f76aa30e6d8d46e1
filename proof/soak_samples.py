"""What processes use as time goes by, and whether that grows: samples, and lines through them."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_MB = 1 << 20
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Sample:
    """One process at one moment."""

    at: float  # seconds since the beginning
    memory: float  # MB, resident
    files: int
    threads: int


@dataclass
class Course:
    """All samples of one process, after it has warmed up."""

    samples: list[Sample] = field(default_factory=list)

    @property
    def growth(self) -> float:
        """MB per hour: the slope of the line with the least squares."""
        return slope([(one.at / 3600, one.memory) for one in self.samples])

    @property
    def memory(self) -> float:
        return max((one.memory for one in self.samples), default=0.0)

    def more(self, what: str) -> int:
        """How many more files or threads it has in the end than in the beginning.

        While it is at work it has some for a moment; what it always has is the least of many samples.
        """
        counts = [int(getattr(one, what)) for one in self.samples]
        third = max(len(counts) // 3, 1)
        return min(counts[-third:], default=0) - min(counts[:third], default=0)


class Sampler:
    """Looks at some processes, which must be the same all the time, and at a file that must stay small."""

    def __init__(self, processes: Mapping[str, Sequence[int]], watched: Path, *, warm_up: float) -> None:
        self.courses: dict[tuple[str, int], Course] = defaultdict(Course)
        self.gone: list[str] = []
        self.largest = 0  # bytes of the watched file
        self._processes = [(kind, pid) for kind, pids in processes.items() for pid in pids]
        self._watched = watched
        self._warm_up = warm_up
        self._began = time.monotonic()

    def look(self) -> None:
        at = time.monotonic() - self._began
        if self._watched.exists():
            self.largest = max(self.largest, self._watched.stat().st_size)
        if at < self._warm_up:
            return
        for kind, pid in self._processes:
            try:
                self.courses[kind, pid].samples.append(_sample(pid, at))
            except OSError:
                self.gone.append(f"{kind} {pid} after {at:.0f} s")

    @property
    def kinds(self) -> list[str]:
        return list(dict.fromkeys(kind for kind, _ in self.courses))

    def of(self, kind: str) -> list[Course]:
        return [course for (name, _), course in self.courses.items() if name == kind]

    def share_of_a_core(self) -> float:
        """Of what is looked at, commands that have ended included, since the beginning."""
        used = sum(_seconds_of(pid) for _, pid in self._processes)
        return used / (time.monotonic() - self._began)


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Of the line through them with the least squares."""
    if len(points) < 2:
        return 0.0
    middle_x = sum(x for x, _ in points) / len(points)
    middle_y = sum(y for _, y in points) / len(points)
    below = sum((x - middle_x) ** 2 for x, _ in points)
    return sum((x - middle_x) * (y - middle_y) for x, y in points) / below if below else 0.0


def _sample(pid: int, at: float) -> Sample:
    process = Path("/proc", str(pid))
    pages = int((process / "statm").read_text().split()[1])
    return Sample(
        at=at,
        memory=pages * os.sysconf("SC_PAGE_SIZE") / _MB,
        files=len(os.listdir(process / "fd")),
        threads=len(os.listdir(process / "task")),
    )


def _seconds_of(pid: int) -> float:
    try:
        words = Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, words[11:15])) / _TICKS

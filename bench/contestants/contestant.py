"""What every contestant can do. How it is installed and run is left to its own module."""

from __future__ import annotations

import tempfile
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

SLOTS = 2
PATIENCE = 120.0  # seconds for one run; who takes longer has lost commands
_PROOF = 20  # commands


class Missing(Exception):
    """The contestant cannot be had here."""


class Lost(Exception):
    """It was there, but not all the commands have run."""


class Contestant(ABC):
    """A program that runs shell commands, two at a time."""

    name: str
    count: int  # commands in one run: two or three seconds on a small machine that has nothing else to do

    @abstractmethod
    def at_hand(self) -> bool:
        """Installed already, so that it costs no network."""

    @abstractmethod
    def prepare(self) -> None:
        """Install it where it is not. Raises Missing."""

    @property
    @abstractmethod
    def version(self) -> str:
        """As it says itself."""

    @abstractmethod
    def rate(self, command: str, count: int) -> float:
        """Commands per second. Raises Lost unless all of them have run, Missing if it does not even start."""

    def prove(self) -> None:
        """Raises Lost unless commands that leave a trace leave as many traces as there are commands."""
        with tempfile.TemporaryDirectory(prefix="queuectl-bench-") as directory:
            traces = Path(directory) / "traces"
            self.rate(f"echo >> {traces}", _PROOF)
            found = traces.read_bytes().count(b"\n") if traces.exists() else 0
        if found != _PROOF:
            raise Lost(f"{found} of {_PROOF} commands have run")


def steady_rate(ended: Sequence[float]) -> float:
    """From the times at which commands ended. The first tenth is left out: workers may still be starting."""
    ends = sorted(ended)
    warm = len(ends) // 10
    return (len(ends) - 1 - warm) / (ends[-1] - ends[warm])

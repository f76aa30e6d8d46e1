"""How far a move has come. Showing it is left to whoever asked for it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    # What is being done, how much of it is done, and of how much.
    Progress = Callable[[str, int, int], None]


class Tally:
    """Rows counted, and told."""

    __slots__ = ("_done", "_phase", "_progress", "_total")

    def __init__(self, phase: str, total: int, progress: Progress) -> None:
        self._phase = phase
        self._total = total
        self._progress = progress
        self._done = 0

    def __call__(self, rows: int) -> None:
        self._done += rows
        self._progress(self._phase, self._done, self._total)

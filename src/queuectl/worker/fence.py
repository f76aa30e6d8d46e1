"""When our own commands have to be gone: before the lease ends, if it could not be renewed.

Ending them is left to the loop.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.config.settings import Settings
    from queuectl.worker.heart import Heart

_MARGIN = 2.0  # seconds on top of the kill grace


class Fence:
    """Times are monotonic seconds; `longest_wait` is how long the store may keep us from looking at them."""

    __slots__ = ("_after", "_heart", "_longest_wait", "_margin", "_settings")

    def __init__(self, heart: Heart, longest_wait: float) -> None:
        self._heart = heart
        self._longest_wait = longest_wait
        self._read(heart.settings)

    def _read(self, settings: Settings) -> None:
        self._settings = settings
        lease = settings.worker_lease / 1000
        self._margin = min(settings.kill_grace / 1000 + _MARGIN + self._longest_wait, lease / 2)
        self._after = lease - self._margin

    @property
    def at(self) -> float:
        """When to begin to end them. Asked before each start, so it costs next to nothing."""
        if self._heart.settings is not self._settings:
            self._read(self._heart.settings)
        return self._heart.confirmed + self._after

    @property
    def lease_ends(self) -> float:
        """From then on others may have our jobs."""
        return self.at + self._margin

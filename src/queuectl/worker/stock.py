"""The pieces of resources that this worker has, and which of its running commands holds which.

That a job is only claimed when its pieces are free is left to the claim.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from queuectl.core.job import Job
    from queuectl.core.pieces import Pieces


class Stock:
    """Jobs without needs never come here."""

    __slots__ = ("_free", "_taken")

    def __init__(self, pieces: Pieces | None = None) -> None:
        self._free = {name: list(ids) for name, ids in (pieces or {}).items()}
        self._taken: dict[str, Pieces] = {}  # by the job's token

    def free(self, waiting: Iterable[Job]) -> dict[str, int]:
        """How many of each no command holds and no job that waits for its start will need."""
        if not self._free:
            return {}
        from queuectl.core.amounts import parse_needs

        left = {name: len(ids) for name, ids in self._free.items()}
        for job in waiting:
            if job.needs is not None:
                for name, count in parse_needs(job.needs).items():
                    left[name] = left.get(name, 0) - count
        return {name: count for name, count in left.items() if count > 0}

    def take(self, job: Job) -> Pieces:
        """The pieces for a command that is about to start; ValueError if they are not there."""
        from queuectl.core.amounts import parse_needs, take

        taken = take(parse_needs(job.needs), self._free)
        self._taken[job.token] = taken
        return taken

    def give(self, job: Job) -> None:
        """Its command has ended, or did not even start."""
        from queuectl.core.amounts import give

        give(self._taken.pop(job.token), self._free)

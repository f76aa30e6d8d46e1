"""What comes over from another tool: jobs to be, limits of queues, and what was left behind.

How each tool writes its state is left to `pueue` and `joblog`; that jobs are stored, to the command line.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Plan", "as_name", "counted"]

_FOREIGN = re.compile(r"[^A-Za-z0-9._:@=+-]+")
_LONGEST_NAME = 64


class Plan:
    """The fields of each job with its place in the file, in the order in which they are to be stored."""

    __slots__ = ("jobs", "left_out", "limits", "notes")

    def __init__(self) -> None:
        self.jobs: list[tuple[str, dict[str, object]]] = []
        self.left_out: dict[str, int] = {}  # why -> how many
        self.limits: dict[str, int] = {}  # queue -> how many of its jobs may run at a time
        self.notes: list[str] = []

    def leave_out(self, why: str) -> None:
        self.left_out[why] = self.left_out.get(why, 0) + 1


def as_name(text: str) -> str | None:
    """A queue or a tag called like this, as far as its letters allow; None: there is nothing left of it."""
    name = _FOREIGN.sub("-", text).strip("-.")[:_LONGEST_NAME].lstrip(":=+@")
    return name or None


def counted(reasons: Iterable[tuple[str, int]]) -> str:
    """`2 succeeded, 1 is running`"""
    return ", ".join(f"{count:,} {why}" for why, count in reasons)

"""Which process is meant: a pid and what tells it from a later process with the same pid.

How the parts are measured is left to linux.py and portable.py.
"""

from __future__ import annotations

import os

ALIVE = "alive"
DEAD = "dead"
UNKNOWN = "unknown"

# The namespace of every identity measured by psutil: its start times and boot ids look different,
# so the two ways of measuring must never be compared with each other.
BY_PSUTIL = "psutil"

_LARGEST_PID = 2**31 - 1


class Identity:
    """One process, for as long as anybody remembers it."""

    __slots__ = ("boot", "namespace", "pid", "start")

    def __init__(self, *, pid: int, start: str, boot: str, namespace: str) -> None:
        # kill() takes 0 and below for a group or for everybody.
        if not 0 < pid <= _LARGEST_PID:
            raise ValueError(f"not a process id: {pid}")
        if not start or not boot or any(part != plain(part) for part in (start, boot, namespace)):
            raise ValueError(f"not an identity: {start!r} {boot!r} {namespace!r}")
        self.pid = pid
        self.start = start
        self.boot = boot
        self.namespace = namespace

    def encode(self) -> str:
        """One line without spaces, for a file or a column."""
        return f"{self.pid}:{self.start}:{self.boot}:{self.namespace}"

    @classmethod
    def decode(cls, text: str) -> Identity:
        """The opposite of encode(). Raises ValueError for anything else."""
        parts = text.split(":")
        if len(parts) != 4 or not (parts[0].isascii() and parts[0].isdigit()):
            raise ValueError(f"not an identity: {text[:200]!r}")
        return cls(pid=int(parts[0]), start=parts[1], boot=parts[2], namespace=parts[3])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Identity):
            return NotImplemented
        return self.encode() == other.encode()

    def __hash__(self) -> int:
        return hash(self.encode())

    def __repr__(self) -> str:
        return f"<Identity {self.encode()}>"


def plain(text: str) -> str:
    """The text with everything but ASCII letters, digits, dots and hyphens made a hyphen."""
    return "".join(c if c.isascii() and (c.isalnum() or c in ".-") else "-" for c in text)


def boot_override() -> str:
    """The boot id that a test pretends, or nothing."""
    return plain(os.environ.get("QUEUECTL_BOOT_ID", ""))

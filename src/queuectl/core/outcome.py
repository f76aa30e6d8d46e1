"""How one attempt ended, as the worker saw it; what follows from it is decided in `lifecycle`."""

from __future__ import annotations

SUCCEEDED = "succeeded"
FAILED = "failed"  # exit code or signal
TIMEOUT = "timeout"
SPAWN_ERROR = "spawn_error"  # the command could not be started at all
CANCELLED = "cancelled"
LOST = "lost"  # its worker died or was cut off
RELEASED = "released"  # stopped by a planned shutdown; costs no attempt
UNSTARTED = "unstarted"  # claimed but never started; as if nothing had happened

# What a worker adds to an error because nobody could find it out later; `deaths` reads it.
CANNOT_ENTER = "cannot enter the directory"
LOOKED_IN = "(PATH="  # where a command was looked for and not found
NO_MEMORY = "out of memory: killed by the kernel"
PERHAPS_NO_MEMORY = "perhaps out of memory: the kernel killed a process"


class Outcome:
    """The end of one attempt. Times are epoch milliseconds."""

    __slots__ = (
        "cpu_ms",
        "error",
        "exit_code",
        "finished_at",
        "kind",
        "log",
        "max_rss_kb",
        "output",
        "output_bytes",
        "output_dropped",
        "retry_at",
        "signal",
        "started_at",
    )

    def __init__(self, kind: str, *, finished_at: int, started_at: int | None = None) -> None:
        self.kind = kind
        self.started_at = started_at
        self.finished_at = finished_at
        self.exit_code: int | None = None
        self.signal: int | None = None
        self.error: str | None = None
        self.cpu_ms: int | None = None
        self.max_rss_kb: int | None = None
        self.output: bytes | None = None
        self.output_bytes = 0
        self.output_dropped = 0
        self.log: str | None = None
        self.retry_at: int | None = None  # when the command itself wants to be tried again

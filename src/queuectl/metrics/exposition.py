"""The text of /metrics."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.queue import Queue
    from queuectl.web.pool import Pool

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def exposition(queue: Queue, *, pool: Pool | None = None) -> bytes:
    raise NotImplementedError

"""What the SDK complains of: a line now and then on the worker's log, and nothing on anybody's terminal."""

from __future__ import annotations

import logging
import threading
import time

from queuectl.events import emit

_EVERY = 60.0  # seconds between two lines
_LONGEST = 200  # characters


class Complaints(logging.Handler):
    """Has the records of the package `opentelemetry`; a program's own handlers get them as well."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.heard = threading.Event()
        self._next = 0.0

    def emit(self, record: logging.LogRecord) -> None:
        self.heard.set()
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _EVERY
            # A query may hold a key, and what follows the first line is a traceback.
            text = record.getMessage().partition("\n")[0].partition("?")[0]
            emit("tracing.failed", error=text[:_LONGEST])


def listen() -> threading.Event:
    """From now on; the result is set at each complaint."""
    complaints = Complaints()
    # With a handler of its own nothing goes to stderr by logging's last resort.
    logging.getLogger("opentelemetry").addHandler(complaints)
    return complaints.heard

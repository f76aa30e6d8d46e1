"""What a call of a tool has at hand: a queue of its own, a way to wait that can be ended, the answer's form.

Each call runs in a thread of its own, and a Queue is not for several.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager

from queuectl.agents.text import plain_document, plain_output
from queuectl.app import open_queue
from queuectl.errors import QueuectlError
from queuectl.running import output_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from queuectl.agents.runs import Runs
    from queuectl.agents.text import Clean
    from queuectl.core.job import Attempt, Job
    from queuectl.queue import Queue

# So soon a wait notices that nobody wants its answer any more.
_LOOK_EVERY_S = 0.5


class Answer:
    """What a tool gives: a document, and words for those who read only text."""

    __slots__ = ("document", "failed", "words")

    def __init__(self, document: dict[str, Any], words: str, *, failed: bool = False) -> None:
        self.document = document
        self.words = words
        self.failed = failed  # the tool could not do it


class Desk:
    """What all calls share."""

    def __init__(self, url: str, runs: Runs, clean: Clean, *, read_only: bool = False) -> None:
        self.url = url
        self.runs = runs
        self.read_only = read_only
        self._clean = clean

    @contextmanager
    def queue(self) -> Iterator[Queue]:
        # Who may only look makes no store either.
        with open_queue(self.url, create=not self.read_only) as queue:
            queue.caller = {}  # new jobs do not belong to the trace in which this server was started
            yield queue

    def answer(self, document: dict[str, Any], words: str) -> Answer:
        shown = plain_document(document, self._clean)
        assert isinstance(shown, dict)
        return Answer(shown, self._clean(words))

    def refusal(self, error: QueuectlError) -> Answer:
        body = {"code": error.code, "message": error.message, "hint": error.hint}
        words = f"error: {error.message}" + (f"\nhint: {error.hint}" if error.hint else "")
        answer = self.answer({"error": body}, words)
        answer.failed = True
        return answer

    def output(
        self, queue: Queue, job: Job, attempt: Attempt | None, *, most: int, stream: int | None = None
    ) -> tuple[str, bool]:
        """The end of what an attempt printed, and whether that is not all. None: the one that runs."""
        found = output_of(queue, job, attempt, most=most)
        text = plain_output(found.text(stream), self._clean)
        return text[max(len(text) - most, 0) :], found.truncated or len(text) > most


class Patience:
    """How long a call waits: until its time is up, or nobody wants its answer any more."""

    def __init__(self) -> None:
        self._over = threading.Event()

    def end(self) -> None:
        self._over.set()

    def for_jobs(
        self, queue: Queue, ids: list[str], seconds: float, *, hopeless: Callable[[], bool] | None = None
    ) -> bool:
        """Whether all of these have ended. `hopeless`: there is nobody left who could end them."""
        deadline = time.monotonic() + seconds
        while True:
            left = deadline - time.monotonic()
            last = left <= 0 or self._over.is_set() or (hopeless is not None and hopeless())
            # Asked once more after that: the job may have ended right before its process.
            if queue.wait(ids, timeout=0 if last else min(left, _LOOK_EVERY_S)):
                return True
            if last:
                return False

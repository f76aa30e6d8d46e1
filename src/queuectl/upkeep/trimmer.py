"""Retention of output: adds up what jobs have printed, and drops that of the oldest beyond `keep-output`.

There is no count of it: keeping one would cost every job its share. Instead all attempts are gone through, so
many at a time, by one worker of each machine; the jobs themselves are left to `purger`.
"""

from __future__ import annotations

from queuectl import system
from queuectl.events import emit
from queuectl.failpoints import failpoint
from queuectl.logfiles import delete_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from queuectl.config.settings import Settings
    from queuectl.store.api import Store
    from queuectl.store.messages import Piece

_EVERY_MS = 10_000
_START = (-1, -1)


class Trimmer:
    """Called at every heartbeat; works at most once in a while, and goes on where it stopped.

    In a turn it looks at so many `chunks` of attempts at most. `host`: the name of this machine.
    """

    def __init__(
        self,
        me: Callable[[], str],
        *,
        chunk: int = 500,
        chunks: int = 20,
        host: Callable[[], str] = system.hostname,
    ) -> None:
        self._me = me
        self._chunk = chunk
        self._chunks = chunks
        self._host = host
        self._next = 0
        self._leads = True  # what lies in the store is seen by all machines, and dropped by one
        self._pausing = False  # a round is over; the next begins with the next turn
        self._begin()

    def _begin(self) -> None:
        self._after = _START
        self._sum = 0
        self._dropping = False  # what is too much is known
        self._excess = 0  # how much of that has still to go

    def __call__(self, store: Store, settings: Settings, now: int) -> None:
        most = settings.keep_output
        if most is None or self._next - _EVERY_MS <= now < self._next:
            return
        self._next = now + _EVERY_MS
        if not self._is_first(store):
            self._begin()
            return
        dropped = sum(self._step(store, most) for _ in range(self._chunks) if not self._pausing)
        self._pausing = False
        if dropped:
            emit("upkeep.trimmed", attempts=dropped)

    def _step(self, store: Store, most: int) -> int:
        """Look at the next attempts; returns of how many the output was dropped."""
        pieces, after = store.outputs().pieces(self._after, limit=self._chunk)
        pieces = [p for p in pieces if (self._leads if p.log is None else p.host == self._host())]
        dropped = 0
        if self._dropping:
            dropped = self._drop(store, pieces)
            if self._excess <= 0:
                after = None
        else:
            self._sum += sum(piece.size for piece in pieces)
        if after is not None:
            self._after = after
            return dropped
        # The end of a walk. If it has found too much, the next one drops that.
        too_much = 0 if self._dropping else self._sum - most
        self._begin()
        self._excess = max(too_much, 0)
        self._dropping = self._excess > 0
        self._pausing = not self._dropping
        return dropped

    def _is_first(self, store: Store) -> bool:
        """Of all workers on this machine one is enough, and no other sees its log files."""
        workers = store.workers()
        leads = not workers or min(worker.id for worker in workers) == self._me()
        if leads != self._leads:
            self._leads = leads
            self._begin()
        here = [worker.id for worker in workers if worker.host == self._host()]
        return not here or min(here) == self._me()

    def _drop(self, store: Store, pieces: Sequence[Piece]) -> int:
        """The oldest of these, until enough is gone."""
        dropped, start = 0, 0
        while start < len(pieces) and self._excess > 0:
            end, left = start, self._excess
            while end < len(pieces) and left > 0:
                left -= pieces[end].size
                end += 1
            # What belongs to jobs that have not ended stays, and something younger goes instead.
            dropped += self._drop_these(store, pieces[start:end])
            start = end
        return dropped

    def _drop_these(self, store: Store, pieces: Sequence[Piece]) -> int:
        done = store.outputs().drop(pieces)
        failpoint("trim.dropped")
        for piece in done:
            if piece.log is not None:
                # After the commit: who is killed in between leaves a file, which `vacuum` finds.
                delete_log(store.location.logs_dir, piece.log)
        self._excess -= sum(piece.size for piece in done)
        return len(done)

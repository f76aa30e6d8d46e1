"""A worker as the store and its machine know it: its row, its doorbell, its ledger."""

from __future__ import annotations

import os

from queuectl import __version__, system
from queuectl.core.dealing import spell_queues
from queuectl.doorbell import Bell
from queuectl.store.messages import Worker
from queuectl.worker.ledger import Ledger, ledger_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.store.api import Store

# Beyond the slots: claimed ahead, and ended but not reported yet.
_SPARE_MARKS = 4096


class Membership:
    """One incarnation. A worker that was declared dead leaves it and makes a new one."""

    def __init__(
        self,
        store: Store,
        *,
        concurrency: int,
        queues: tuple[str, ...] | None,
        weights: tuple[int, ...] | None = None,
        provides: str | None = None,
        supervisor: int | None,
    ) -> None:
        self.concurrency = concurrency
        self._queues = None if queues is None else spell_queues(queues, weights)
        self._provides = provides
        self._supervisor = supervisor
        self.host = system.hostname()
        self.id = f"{self.host}-{os.getpid()}-{os.urandom(3).hex()}"
        run_dir = store.location.run_dir
        self.bell = Bell(run_dir, self.id)
        try:
            self.ledger = Ledger(ledger_path(run_dir, self.id), concurrency + _SPARE_MARKS)
        except BaseException:
            self.bell.close()
            raise

    def register(self, store: Store, lease_ms: int, now: int) -> None:
        identity = system.identify()
        assert identity is not None
        worker = Worker()
        worker.id = self.id
        worker.host = self.host
        worker.pid = os.getpid()
        worker.identity = identity.encode()
        worker.session = os.getsid(0)
        worker.state = "alive"
        worker.started_at = worker.seen_at = now
        worker.concurrency = self.concurrency
        worker.running = 0
        worker.queues = self._queues
        worker.supervisor = self._supervisor
        worker.control = None
        worker.provides = self._provides
        worker.memory_kb = None
        worker.version = __version__
        try:
            store.register(worker, lease_ms)
        except BaseException:
            self.close()  # whoever tidies up after workers goes by their rows, and we may have none
            raise

    def close(self) -> None:
        self.bell.close()
        self.ledger.close()

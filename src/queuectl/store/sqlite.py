"""The store in one SQLite file."""

from __future__ import annotations

import os

from queuectl import paths, system
from queuectl.errors import StoreError
from queuectl.store.connection import Connection
from queuectl.store.coordination import Coordination
from queuectl.store.jobs import JobWrites
from queuectl.store.migrate import migrate
from queuectl.store.reads import JobReads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.paths import Location

_ALLOW_NETWORK = "QUEUECTL_ALLOW_NETWORK_FS"


def _refuse_network(file: str) -> None:
    """SQLite's locks and shared memory do not work over a network: two machines would ruin the file."""
    if system.is_network_filesystem(os.path.dirname(file)) and not os.environ.get(_ALLOW_NETWORK):
        raise StoreError(
            f"{file} would be on a network file system, where SQLite can lose data",
            f"choose a local disk with --db or QUEUECTL_HOME ({_ALLOW_NETWORK}=1 overrides this)",
        )


class SqliteStore(JobWrites, JobReads, Coordination):
    """All of `store.api.Store` over one connection; every thread opens its own."""

    def __init__(self, location: Location, *, create: bool, busy_ms: int = 10_000) -> None:
        self.location = location
        if create:
            paths.make_parent_dir(location)
            if not os.path.exists(location.file):
                _refuse_network(location.file)
        self.connection = Connection(location.file, create=create, busy_ms=busy_ms)
        try:
            found = migrate(self.connection)
            if create:
                # Not before: a file that we refuse must not get a directory beside it.
                paths.make_private_dir(location.state_dir)
                if found == 0:
                    paths.mark_home(location)
        except BaseException:
            self.connection.close()
            raise

    def be_patient(self, busy_ms: int) -> None:
        self.connection.be_patient(busy_ms)

    def relax_durability(self) -> None:
        self.connection.relax_durability()

    def changed(self) -> int:
        """A number that changes when somebody else has written; costs next to nothing to ask."""
        return self.connection.data_version()

    def check_identity(self) -> None:
        self.connection.check_identity()

    def close(self) -> None:
        self.connection.close()

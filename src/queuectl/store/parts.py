"""The parts of a store that few commands use, over the same connection; loaded when they are asked for."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.paths import Location
    from queuectl.store.backlog import Backlog
    from queuectl.store.bookkeeping import Bookkeeping
    from queuectl.store.connection import Connection
    from queuectl.store.editing import Editing
    from queuectl.store.figures import Figures
    from queuectl.store.history import History
    from queuectl.store.links import Links
    from queuectl.store.notices import Notices
    from queuectl.store.queues import Queues
    from queuectl.store.retention import Outputs
    from queuectl.store.runtimes import Runtimes
    from queuectl.store.schedules import Schedules
    from queuectl.store.surroundings import Surroundings


class Parts:
    """Mixed into a store; needs `self.connection`."""

    connection: Connection
    location: Location

    def backlog(self) -> Backlog:
        from queuectl.store.backlog import Backlog

        return Backlog(self.connection)

    def bookkeeping(self) -> Bookkeeping:
        from queuectl.store.bookkeeping import Bookkeeping

        return Bookkeeping(self.connection)

    def history(self) -> History:
        from queuectl.store.history import History

        return History(self.connection)

    def figures(self) -> Figures:
        from queuectl.store.figures import Figures

        return Figures(self.connection, self.location)

    def queues(self) -> Queues:
        from queuectl.store.queues import Queues

        return Queues(self.connection)

    def outputs(self) -> Outputs:
        from queuectl.store.retention import Outputs

        return Outputs(self.connection)

    def runtimes(self) -> Runtimes:
        from queuectl.store.runtimes import Runtimes

        return Runtimes(self.connection)

    def schedules(self) -> Schedules:
        from queuectl.store.schedules import Schedules

        return Schedules(self.connection)

    def links(self) -> Links:
        from queuectl.store.links import Links

        return Links(self.connection)

    def notices(self) -> Notices:
        from queuectl.store.notices import Notices

        return Notices(self.connection)

    def editing(self) -> Editing:
        from queuectl.store.editing import Editing

        return Editing(self.connection)

    def surroundings(self) -> Surroundings:
        from queuectl.store.surroundings import Surroundings

        return Surroundings(self.connection)

"""Whether a program can go on with a schema that is newer than what it knows: the schema itself says so.

Every migration since the fifth leaves a row: its version, and the oldest schema whose programs may still
use the tables as they are then. Without a row for the version that is found, nobody older may.
"""

from __future__ import annotations

from queuectl.errors import SchemaTooNew

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.store.connection import Connection

# What the row of our own latest schema says: programs of this one, running while we migrate, go on.
OLDEST = 4


def goes_on(connection: Connection, found: int, latest: int) -> bool:
    """Whether a program that knows `latest` may use the newer schema that it has found."""
    row = connection.one("SELECT oldest FROM compatibility WHERE version = ?", (found,))
    return row is not None and int(str(row[0])) <= latest


def too_new(shown: str, found: int, latest: int) -> SchemaTooNew:
    return SchemaTooNew(
        f"{shown} was written by a newer queuectl (schema {found}, this one knows {latest})",
        "pip install --upgrade queuectl",
    )


def refuse_half_known(shown: str, found: int, latest: int) -> None:
    """Who moves whole tables must know all of their columns, or the new ones would be lost on the way."""
    if found > latest:
        raise too_new(shown, found, latest)

"""SQLite's errors in our words: the driver's own never leave the store. Loaded when there is one to tell."""

from __future__ import annotations

import apsw

from queuectl.errors import InvalidInput, QueuectlError, StoreBusy, StoreCorrupt, StoreError
from queuectl.store.connection import Clash

_UNIQUENESS = (apsw.SQLITE_CONSTRAINT_UNIQUE, apsw.SQLITE_CONSTRAINT_PRIMARYKEY)


def translate(error: apsw.Error | UnicodeEncodeError, file: str) -> QueuectlError:
    if isinstance(error, UnicodeEncodeError):
        return InvalidInput(f"{error.object[:64]!r} is not text", "use valid UTF-8")
    if isinstance(error, apsw.ConstraintError) and _extended_code(error) in _UNIQUENESS:
        return Clash(f"it exists already: {error} ({file})")
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return StoreBusy(
            f"the database is locked by another process ({file})",
            "try again; if it stays so, see who holds it: fuser " + file,
        )
    if isinstance(error, apsw.NotADBError | apsw.CorruptError):
        return StoreCorrupt(
            f"{file} is damaged or not a database ({error})",
            "nothing was changed; restore a backup, or choose another file with --db",
        )
    if isinstance(error, apsw.FullError):
        return StoreError(f"the disk is full ({file})", "free some space; nothing was stored")
    if isinstance(error, apsw.ReadOnlyError | apsw.CantOpenError | apsw.PermissionsError):
        return StoreError(
            f"cannot open {file} for writing ({error})",
            "check its permissions, or choose another file with --db",
        )
    return StoreError(f"the database failed: {error} ({file})", "nothing was stored")


def _extended_code(error: apsw.Error) -> int:
    return int(getattr(error, "extendedresult", 0))  # apsw's types do not mention it

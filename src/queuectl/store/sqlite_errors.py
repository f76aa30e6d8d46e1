"""SQLite's errors in our words: the driver's own never leave the store. Loaded when there is one to tell."""

from __future__ import annotations

import os

import apsw

from queuectl.errors import (
    InvalidInput,
    OutcomeUnknown,
    QueuectlError,
    StoreBusy,
    StoreCorrupt,
    StoreError,
)
from queuectl.store.connection import Clash

_UNIQUENESS = (apsw.SQLITE_CONSTRAINT_UNIQUE, apsw.SQLITE_CONSTRAINT_PRIMARYKEY)


def translate(error: apsw.Error | UnicodeError, file: str, *, committing: bool = False) -> QueuectlError:
    if isinstance(error, UnicodeEncodeError):
        return InvalidInput(f"{error.object[:64]!r} is not text", "use valid UTF-8")
    if isinstance(error, apsw.ConstraintError) and _extended_code(error) in _UNIQUENESS:
        return Clash(f"it exists already: {error} ({file})")
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return StoreBusy(
            f"the database is locked by another process ({file})",
            "try again; if it stays so, see who holds it: fuser " + file,
        )
    if isinstance(error, apsw.NotADBError | apsw.CorruptError | UnicodeError):
        return StoreCorrupt(
            f"{file} is damaged or not a database ({error})",
            "nothing was changed; restore a backup, or choose another file with --db",
        )
    if isinstance(error, apsw.FullError):
        return StoreError(f"the disk is full ({file})", "free some space; nothing was stored")
    if isinstance(error, apsw.CantOpenError) and os.path.isdir(file):
        return StoreError(
            f"{file} is a directory", f"name a file in it: --db {os.path.join(file, 'queue.db')}"
        )
    if isinstance(error, apsw.ReadOnlyError | apsw.CantOpenError | apsw.PermissionsError):
        return StoreError(
            f"cannot open {file} for writing ({error})",
            "check its permissions, or choose another file with --db",
        )
    if committing and isinstance(error, apsw.IOError):
        # All of it may stand in the log, only its way to the disk failed. Nobody sees it now; but whoever
        # reads the log anew, because all others have closed it, takes it for stored.
        return OutcomeUnknown(
            f"the disk failed at the very end: whether it was stored is not known: {error} ({file})",
            "look with queuectl list, or do the same again with the same --id and --if-exists skip",
        )
    return StoreError(f"the database failed: {error} ({file})", "nothing was stored")


def _extended_code(error: apsw.Error) -> int:
    return int(getattr(error, "extendedresult", 0))  # apsw's types do not mention it

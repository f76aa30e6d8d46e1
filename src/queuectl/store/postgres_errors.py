"""PostgreSQL's errors in our words: psycopg's own never leave the store."""

from __future__ import annotations

import psycopg
from psycopg import errors as pg

from queuectl.errors import InvalidInput, QueuectlError, StoreAway, StoreBusy, StoreError
from queuectl.store.connection import Clash
from queuectl.store.server_connection import Conflict
from queuectl.store.server_schema import MissingTable

_LOST = (pg.AdminShutdown, pg.CrashShutdown, pg.IdleInTransactionSessionTimeout, pg.DatabaseDropped)
_NOT_NOW = (
    pg.CannotConnectNow,
    pg.LockNotAvailable,
    pg.TooManyConnections,
    pg.QueryCanceled,
    pg.ReadOnlySqlTransaction,  # a standby that is about to be promoted
)
_CONFLICTS = (pg.DeadlockDetected, pg.SerializationFailure)
_FATAL_FOR_NOW = (
    *("starting up", "shutting down", "recovery", "not yet accepting", "too many", "connection slots"),
    *("terminating connection", "standby", "not accepting connections"),
)
_NEVER = (
    *(pg.InvalidPassword, pg.InvalidAuthorizationSpecification),
    *(pg.InvalidCatalogName, pg.InsufficientPrivilege),
)


def translate(error: Exception, shown: str, *, connected: bool) -> QueuectlError:
    """`connected`: whether the connection has outlived it."""
    said = " ".join(str(error).split())[:300]
    if isinstance(error, UnicodeEncodeError):
        return InvalidInput(f"{error.object[:64]!r} is not text", "use valid UTF-8")
    if isinstance(error, (*_CONFLICTS, *_NOT_NOW)):
        return _for_now(error, said, shown)
    if isinstance(error, _NEVER) or _is_refusal(said):
        return _refused(said, shown)
    if isinstance(error, _LOST) or not connected:
        return _unreachable(error, said, shown)
    if isinstance(error, pg.UniqueViolation):
        return Clash(f"it exists already ({shown})")
    if isinstance(error, pg.UndefinedTable | pg.InvalidSchemaName):
        return MissingTable(f"{shown}: {said}", "queuectl init makes what is missing")
    if isinstance(error, psycopg.DataError):
        return InvalidInput(f"PostgreSQL cannot store this: {said}")
    return StoreError(f"the database failed: {said} ({shown})", "nothing was stored")


def _for_now(error: Exception, said: str, shown: str) -> StoreBusy:
    if isinstance(error, _CONFLICTS):
        return Conflict(f"the server ended our transaction in favour of another ({shown})", "try again")
    return StoreBusy(f"the server cannot do this now: {said} ({shown})", "try again")


def _unreachable(error: Exception, said: str, shown: str) -> QueuectlError:
    if isinstance(error, psycopg.ProgrammingError):  # an option that nobody knows
        return InvalidInput(f"the database address is not valid: {said}", "see docs/servers.md")
    return StoreAway(f"cannot reach {shown}: {said}", "see whether the server runs: queuectl doctor")


def _is_refusal(said: str) -> bool:
    """While connecting, psycopg has no codes, only what the server said."""
    return "FATAL" in said and not any(words in said for words in _FATAL_FOR_NOW)


def _refused(said: str, shown: str) -> StoreError:
    error = StoreError(
        f"the server refuses us: {said} ({shown})", "check user, password and rights in the address"
    )
    error.lasting = True
    return error

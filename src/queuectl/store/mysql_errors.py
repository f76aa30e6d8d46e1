"""The errors of MySQL and MariaDB in our words: PyMySQL's own never leave the store."""

from __future__ import annotations

import pymysql
from pymysql.constants import CR, ER

from queuectl.errors import InvalidInput, QueuectlError, StoreAway, StoreBusy, StoreError
from queuectl.store.connection import Clash
from queuectl.store.server_connection import Conflict
from queuectl.store.server_schema import MissingTable

_CONNECTION_KILLED, _KILLED_NEW, _READ_ONLY = 1927, 3169, 1290
_RECORD_CHANGED = 1020  # MariaDB's snapshot isolation, from 11.6.2 on
_LOST = (
    *(CR.CR_CONN_HOST_ERROR, CR.CR_CONNECTION_ERROR, CR.CR_SERVER_GONE_ERROR, CR.CR_SERVER_LOST),
    *(CR.CR_SERVER_LOST_EXTENDED, ER.SERVER_SHUTDOWN, _CONNECTION_KILLED, _KILLED_NEW, 0),
)
_CONFLICTS = (ER.LOCK_DEADLOCK, _RECORD_CHANGED)
_NOT_NOW = (ER.LOCK_WAIT_TIMEOUT, ER.CON_COUNT_ERROR, ER.QUERY_INTERRUPTED, _READ_ONLY)
_REFUSED = (
    *(ER.ACCESS_DENIED_ERROR, ER.DBACCESS_DENIED_ERROR, ER.BAD_DB_ERROR, ER.TABLEACCESS_DENIED_ERROR),
    *(1698, 1251, 3159),  # other ways to be turned away
)
_TOO_MUCH = (ER.DATA_TOO_LONG, ER.NET_PACKET_TOO_LARGE, 1366, 1406)


def translate(error: Exception, shown: str, *, connected: bool) -> QueuectlError:
    """`connected`: whether the connection has outlived it."""
    if isinstance(error, UnicodeEncodeError):
        return InvalidInput(f"{error.object[:64]!r} is not text", "use valid UTF-8")
    code = error.args[0] if isinstance(error, pymysql.Error) and error.args else 0
    said = " ".join(str(error.args[-1] if error.args else error).split())[:300] or type(error).__name__
    if code == ER.DUP_ENTRY:
        return Clash(f"it exists already ({shown})")
    if code == ER.NO_SUCH_TABLE:
        return MissingTable(f"{shown}: {said}", "queuectl init makes what is missing")
    if code in _CONFLICTS:
        return Conflict(f"the server ended our transaction in favour of another ({shown})", "try again")
    if code in _NOT_NOW:
        return StoreBusy(f"the server cannot do this now: {said} ({shown})", "try again")
    if code in _REFUSED:
        refusal = StoreError(
            f"the server refuses us: {said} ({shown})", "check user, password and database in the address"
        )
        refusal.lasting = True
        return refusal
    if code in _LOST or not connected or isinstance(error, OSError | EOFError):
        return StoreAway(f"cannot reach {shown}: {said}", "see whether the server runs: queuectl doctor")
    if code in _TOO_MUCH:
        return InvalidInput(f"the server cannot store this: {said}")
    return StoreError(f"the database failed: {said} ({shown})", "nothing was stored")

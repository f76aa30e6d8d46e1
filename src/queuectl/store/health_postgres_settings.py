"""What PostgreSQL's settings mean for our promises; each is judged by its value alone.

Asking for them, and all that needs a question of its own, is left to health_postgres.py.
"""

from __future__ import annotations

from queuectl.store import health_server
from queuectl.store.health import NOTE, OK, PROBLEM, WARNING, Finding

# Each by its name: as it is in force for us, and as the server, database or role has it.
Settings = dict[str, tuple[str, str]]

_TESTED = ("15",)
_OLDEST = "13"

NAMES = (
    "autovacuum",
    "default_transaction_isolation",
    "default_transaction_read_only",
    "fsync",
    "full_page_writes",
    "max_connections",
    "server_encoding",
    "server_version",
    "superuser_reserved_connections",
    "reserved_connections",
    "synchronous_commit",
    "track_counts",
    "transaction_isolation",
)


def version(values: Settings) -> list[Finding]:
    shown = values["server_version"][0].split(" ")[0]
    return health_server.version(
        f"PostgreSQL {shown}",
        f"PostgreSQL {', '.join(_TESTED)}",
        is_tested=shown.split(".")[0] in _TESTED,
        oldest=_OLDEST,
    )


def isolation(values: Settings) -> list[Finding]:
    default = values["default_transaction_isolation"][1]
    shown = "isolation: read committed in every transaction of queuectl"
    return [Finding(OK, "engine", f"{shown} (the server's default: {default})")]


def encoding(values: Settings) -> list[Finding]:
    name = values["server_encoding"][0]
    if name == "UTF8":
        return [Finding(OK, "engine", "the database stores UTF-8")]
    return [
        Finding(
            WARNING if name == "SQL_ASCII" else PROBLEM,
            "engine",
            f"the database stores {name}, not UTF-8",
            why="some commands and outputs cannot be stored, or are not compared rightly",
            mend="make the database anew: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0",
        )
    ]


def durability(values: Settings) -> list[Finding]:
    """What makes "stored" mean less than "on the disk"."""
    found = []
    for name, why in (
        ("fsync", "a power loss or a crash of the system can ruin the whole database"),
        ("full_page_writes", "a power loss can leave half-written pages that nothing mends"),
    ):
        if values[name][1] != "on":
            mend = f"{name} = on in postgresql.conf, then: SELECT pg_reload_conf()"
            found.append(Finding(PROBLEM, "durability", f"{name} = off", why=why, mend=mend))
    ours, server = values["synchronous_commit"]
    if ours == "off":
        found.append(
            Finding(
                PROBLEM,
                "durability",
                "synchronous_commit = off in our own session",
                why="a job that was confirmed can be lost when the server crashes",
                mend="ALTER SYSTEM SET synchronous_commit = on; SELECT pg_reload_conf()",
            )
        )
    elif server == "off":
        found.append(
            Finding(
                NOTE,
                "durability",
                "synchronous_commit = off on the server",
                why="queuectl asks for it by itself; what other programs write here can be lost at a crash",
                mend="ALTER SYSTEM SET synchronous_commit = on; SELECT pg_reload_conf()",
            )
        )
    return found or [Finding(OK, "durability", f"fsync, full_page_writes on; synchronous_commit {ours}")]


def autovacuum(values: Settings) -> list[Finding]:
    off = [name for name in ("autovacuum", "track_counts") if values[name][1] != "on"]
    if not off:
        return [Finding(OK, "upkeep", "autovacuum is on")]
    return [
        Finding(
            WARNING,
            "upkeep",
            f"{' and '.join(off)} = off",
            why="nobody clears away old versions of rows: tables grow and claims get slower",
            mend=f"ALTER SYSTEM SET {off[0]} = on; SELECT pg_reload_conf()",
        )
    ]

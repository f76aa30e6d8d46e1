"""What the variables of MySQL and MariaDB mean for our promises; each is judged by its value alone.

Asking for them, and all that needs a question of its own, is left to health_mysql.py.
"""

from __future__ import annotations

import re

from queuectl.store import health, health_server
from queuectl.store.health import NOTE, OK, PROBLEM, WARNING, Finding

Variables = dict[str, str]

_TESTED = ("10.11",)
_SMALLEST_PACKET = 4 * 2**20

NAMES = (
    "binlog_format",
    "innodb_doublewrite",
    "innodb_flush_log_at_trx_commit",
    "innodb_flush_method",
    "innodb_force_recovery",
    "innodb_read_only",
    "log_bin",
    "max_allowed_packet",
    "max_connections",
    "read_only",
    "sql_mode",
    "super_read_only",
    "sync_binlog",
    "transaction_isolation",
    "tx_isolation",  # the same, by its name in MariaDB before 11.1
    "version",
)


def version(values: Variables) -> list[Finding]:
    numbers = re.match(r"[\d.]+", values["version"])
    shown = numbers[0] if numbers else values["version"]
    maria = "mariadb" in values["version"].lower()
    return health_server.version(
        f"{'MariaDB' if maria else 'MySQL'} {shown}",
        f"MariaDB {', '.join(_TESTED)}",
        is_tested=maria and ".".join(shown.split(".")[:2]) in _TESTED,
        oldest="MySQL 8.0.1 or MariaDB 10.6",
    )


def role(values: Variables) -> list[Finding]:
    for name in ("read_only", "super_read_only", "innodb_read_only"):
        if values.get(name, "OFF") not in ("OFF", "0"):
            return [
                health_server.standing_back(
                    f"{name} = {values[name]}",
                    "nothing can be enqueued, claimed or finished, unless our user stands above it",
                    "give the address of the primary, or: SET GLOBAL read_only = OFF",
                )
            ]
    if values.get("innodb_force_recovery", "0") != "0":
        return [
            health_server.standing_back(
                f"innodb_force_recovery = {values['innodb_force_recovery']}",
                "the server runs with parts of itself switched off, to save what is left",
                "save the data, then remove the setting and restart the server",
            )
        ]
    return [Finding(OK, "engine", "the server takes writes")]


def strictness(values: Variables) -> list[Finding]:
    if re.search(r"STRICT_(TRANS|ALL)_TABLES", values["sql_mode"]):
        return [Finding(OK, "engine", "sql_mode is strict")]
    return [
        Finding(
            NOTE,
            "engine",
            "sql_mode is not strict on the server",
            why="queuectl asks for it by itself; other programs' values are cut without an error",
            mend="add STRICT_TRANS_TABLES to sql_mode: SET GLOBAL, and in the server's file",
        )
    ]


def packet(values: Variables) -> list[Finding]:
    allowed = int(values["max_allowed_packet"])
    shown = f"max_allowed_packet = {health.shown_size(allowed)}"
    if allowed >= _SMALLEST_PACKET:
        return [Finding(OK, "engine", shown)]
    why = "a job with a long command or output cannot be stored"
    mend = f"SET GLOBAL max_allowed_packet = {4 * _SMALLEST_PACKET}, and in the server's file"
    return [Finding(WARNING, "engine", shown, why=why, mend=mend)]


def durability(values: Variables) -> list[Finding]:
    """What makes "stored" mean less than "on the disk"."""
    found = []
    flush = values["innodb_flush_log_at_trx_commit"]
    if flush not in ("1", "3"):  # 3 is MariaDB's, and does more
        found.append(
            Finding(
                PROBLEM,
                "durability",
                f"innodb_flush_log_at_trx_commit = {flush}",
                why="the last second of confirmed jobs is lost at a power loss",
                mend="SET GLOBAL innodb_flush_log_at_trx_commit = 1, and in the server's file",
            )
        )
    written = values["innodb_doublewrite"]
    if written.upper() in ("OFF", "0", "DETECT_ONLY"):
        found.append(
            Finding(
                PROBLEM,
                "durability",
                f"innodb_doublewrite = {written}",
                why="a power loss can leave half-written pages that nothing mends",
                mend="innodb_doublewrite = ON in the server's file, then restart it",
            )
        )
    method = values.get("innodb_flush_method", "")
    if method.lower() in ("nosync", "littlesync"):
        found.append(
            Finding(
                PROBLEM,
                "durability",
                f"innodb_flush_method = {method}",
                why="a power loss can ruin the whole database",
                mend="remove innodb_flush_method from the server's file, then restart it",
            )
        )
    return found or [Finding(OK, "durability", f"innodb_flush_log_at_trx_commit = {flush}, doublewrite on")]


def binary_log(values: Variables) -> list[Finding]:
    if values.get("log_bin", "OFF") in ("OFF", "0"):
        return [Finding(OK, "durability", "the binary log is off")]
    found = []
    if values["sync_binlog"] != "1":
        found.append(
            Finding(
                PROBLEM,
                "durability",
                f"sync_binlog = {values['sync_binlog']}",
                why="after a power loss the server takes back confirmed jobs that its binary log has lost",
                mend="SET GLOBAL sync_binlog = 1, and in the server's file",
            )
        )
    if values["binlog_format"] == "STATEMENT":
        found.append(
            Finding(
                PROBLEM,
                "durability",
                "binlog_format = STATEMENT",
                why="the server refuses our writes: with SKIP LOCKED they cannot be repeated as statements",
                mend="SET GLOBAL binlog_format = ROW (or MIXED), and in the server's file",
            )
        )
    return found or [Finding(OK, "durability", f"the binary log is synced, {values['binlog_format']}")]

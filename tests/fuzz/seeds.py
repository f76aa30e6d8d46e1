"""Inputs that are accepted, or nearly so: where fuzzing begins."""

from __future__ import annotations

import json

JSON = (
    '{"id": "job1", "command": "echo hi", "n": [1, -2.5e3, true, null, "\\u00e9\\ud83d\\ude00"]}',
    '{"a": 1, "a": 2}',
    "[NaN]",
    "1e999",
    "{'id': 1}",
    "{id: job1}",
    "[" * 200,
    "9" * 5_000,
)
DURATIONS = ("90", "1.5h", "1h 30m", "500ms", "2d3h", "1w", "0.1ms", "100 years", "1e9", "-5", "٣m", ".5m")
TIMES = (
    "\nnow",
    "\n+10m",
    "\nin 2h",
    "Europe/Berlin\n2026-12-01 09:00",
    "\n2026-12-01T09:00:00.123Z",
    "\n2026-12-01 09:00 America/St_Johns",
    "Asia/Kathmandu\n17:30",
    "\n9am",
    "\n12:59:59pm",
    "\ntoday 17:00",
    "\ntomorrow 9am +05:45",
    "Australia/Lord_Howe\nmon 9:00",
    "\n9999-12-31 23:59:59 -14:00",
    "\n1970-01-01 00:00 +14:00",
    "\n2026-12-01 09:00 CET",
)
ISO = (
    "2026-12-01",
    "2026-12-01T09:00:00Z",
    "2026-03-29 02:30:00",
    "2026-12-01t09:00:00,5+01:00",
    "2026-02-30",
)
RECURRENCES = (
    "\n*/5 * * * *",
    "Europe/Berlin\n30 2 * * *",
    "Australia/Lord_Howe\n0,30 1-3 * * SUN#1",
    "\n0 0 29 2 *",
    "\n0 0 L * 5L",
    "\n0 0 LW JAN,FEB MON-FRI/2",
    "\n0 0 31 2 *",
    "America/St_Johns\n@daily",
    "\n@every 1h30m",
    "\n@every 0",
    "\n@reboot",
    "+01:00\n* * * * *",
    "\n59 23 31 12 7",
)
AMOUNTS = (
    "size\n1.5GiB",
    "size\n9223372036854775807",
    "needs\ngpu=1,license=2",
    "needs\ngpu",
    "provides\ngpu=ids:0+3,license=5",
    "rate\n100/min",
    "rate\n10/30s",
    "codes\n1,2,10-20,SIGKILL",
    "id\njob-1:a@b",
    "trace\n00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\na=b",
    "\n1",
)
TEMPLATES = (
    "\n\ngzip {}",
    "\n\necho {1/.} {2//} {#} {-1}",
    "\nname\tsize\techo\nconvert {name} -s '{size}' \"{echo.}\"",
    ",,\n\ncp ,, ,,.bak",
    "\n\nawk '{print $1}' {} | sed 's/\\{//' > ${X}",
    "\n\ncat <<'END'\n{}\nEND",
    "\n\necho $(basename {}) `x {}` # {}",
    "\n\n{=s/a/b/=} {%}",
)
QUEUE_RULES = (
    '{"concurrency": 3, "rate": "100/min", "burst": 5}',
    '{"timeout": "10m", "max_retries": 0, "backoff_strategy": "fixed"}',
    '{"rate": "none", "priority": -1, "weight": 1.5}',
    '{"backoff_base": 1e999, "backoff_max": "1h", "retry_delay": 5}',
)
CHUNKS = ("\1\0\0\0\0\5\0\0\0hello\2\1\0\0\0\2\0\0\0hi", "\3\0\0\0\0\1\0\0\0007", "\1\0\0\0\0")
FILTERS = (
    "dead,failed\nmail\na\necho%_\\\n10m\n2026-12-01",
    "all\n\n\n' OR 1=1 --\nmon 9:00\n9:00",
    '{"state": ["dead"], "queue": "mail", "held": true}',
    '{"state": "pending", "search": "x", "since": "2h", "before": "today 17:00", "tag": "a"}',
    '{"cause": "WzEsbnVsbCwiZXJyb3IiXQ"}',
)
JOBS = (
    '{"id": "job1", "command": "echo hi"}\n{"command": "true", "delay": "5m", "tags": ["a", "b"]}\n',
    '[{"argv": ["ls", "-l"], "env": {"A": "b"}, "cwd": "/tmp"}, {"command": "x", "priority": -5}]',
    '{"command": "x", "run_at": "2030-01-01T00:00:00Z", "timeout": 1.5, "max_retries": 0}',
    '{"command": "x", "backoff_strategy": "fixed", "backoff_base": 1.5, "backoff_max": "1h"}',
    '{"id": "a", "command": "x", "name": "n", "group": "g", "group_limit": 2}\n'
    '{"command": "y", "after": ["n"], "on_success": "echo", "on_failure": {"command": "z"}}\n',
    '{"command": "x", "unique_key": "k", "if_live": "skip", "needs": {"gpu": 1}, "memory": "1G"}',
    '{"command": "x", "retry_on": "1,2", "no_retry_on": [3], "ok_codes": "4-6", "hold": true, "cpu_time": 5}',
    "# of a file of commands\necho hi\n\n  ls\r\n",
)
EXPORTS = (
    '{"queuectl": "export", "version": 1}\n'
    + json.dumps({"table": "config", "row": {"key": "max-retries", "value": "5", "updated_at": 1}})
    + '\n{"queuectl": "end", "tables": {}}\n',
    '{"queuectl": "export", "version": 1}\n'
    + json.dumps({"table": "job_groups", "row": {"name": "g", "concurrency": 1, "updated_at": 1}})
    + "\n"
    + json.dumps({"table": "dependencies", "row": {"child": 1, "parent": 2, "kind": "success"}})
    + '\n{"queuectl": "end"}\n',
)
ADDRESSES = (
    "postgresql://user:secret1@host:5432/database?schema=queue&sslmode=require",
    "mysql://user:p%40ss@[::1]:3306/database?unix_socket=/run/x.sock",
    "mariadb:///queue?password=hidden",
    "postgres://host:99999/x",
)
CURSORS = ("WyJjcmVhdGVkIiwgMTJd", "WzEsIG51bGwsICJlcnJvciJd", "W10", "bnVsbA==", "e30")

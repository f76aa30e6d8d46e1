"""Rows of every table to be moved: ordinary ones, and awkward ones."""

from __future__ import annotations

from tests.support.jobs import NOW
from tests.transfer.places import insert

_JOB: dict[str, object] = {
    "seq": 0,
    "id": "",
    "command": "echo hi",
    "argv": None,
    "queue": "default",
    "state": "pending",
    "priority": 0,
    "attempts": 0,
    "max_retries": 3,
    "lost": 0,
    "runs": 0,
    "backoff_strategy": None,
    "backoff_base": None,
    "backoff_max": None,
    "retry_delay": None,
    "timeout": None,
    "run_at": NOW,
    "created_at": NOW,
    "updated_at": NOW,
    "started_at": None,
    "finished_at": None,
    "cwd": "/srv",
    "env": None,
    "tags": None,
    "exit_code": None,
    "signal": None,
    "last_error": None,
    "worker_id": None,
    "claim": None,
    "cancel_requested": 0,
    "rules": None,
    "needs": None,
    "unique_key": None,
    "job_group": None,
    "held": None,
    "waits": None,
    "unmet": None,
    "schedule": None,
    "progress": None,
    "progress_text": None,
    "notify": None,
    "input": None,
    "about": None,
}
_ATTEMPT: dict[str, object] = {
    "job_seq": 0,
    "run": 1,
    "attempt": 1,
    "claim": "c",
    "worker_id": "w",
    "host": "h",
    "started_at": NOW,
    "finished_at": NOW + 5,
    "outcome": "succeeded",
    "exit_code": 0,
    "signal": None,
    "error": None,
    "cpu_ms": None,
    "max_rss_kb": None,
    "output": None,
    "output_bytes": 0,
    "output_dropped": 0,
    "log": None,
}

MOST = 2**63 - 1
INT32 = 2**31 - 1

AWKWARD: list[dict[str, object]] = [
    {"id": "Job", "command": "echo 1"},
    {"id": "JOB", "command": "echo 2"},
    {"id": "job", "command": "echo 3"},
    {"id": "emoji", "command": "echo 😀👩‍👩‍👧 🇩🇪"},
    {"id": "beyond-the-plane", "command": "echo 𝔘𠜎\U0010ffff", "last_error": "\U0001f600" * 50},
    {"id": "composed", "command": "echo é"},
    {"id": "decomposed", "command": "echo e\u0301"},
    {"id": "quotes", "command": """echo 'a' "b" `c` ''d'' \"\"e\"\" $'x'"""},
    {"id": "backslashes", "command": "echo \\ \\\\ \\n \\' \\0 \\x00 \\u0041 C:\\tmp\\"},
    {"id": "marks", "command": "echo %s %% %(x)s ? ?? $1 :name {0} {{}} -- /* */ ;"},
    {"id": "lines", "command": "echo a\n\techo b\r\necho c\x0b\x0c\x1b[31m\x7f\x80\x85\u2028\u2029\ufeff"},
    {"id": "copy-marks", "command": "\\N", "cwd": "\\.", "last_error": "\\"},
    {"id": "spaces", "command": "echo x   ", "last_error": "  ends with spaces   ", "cwd": "/srv/a b "},
    {"id": "empty", "command": "true", "last_error": "", "env": "{}"},
    {"id": "x" * 128, "command": "x" * 131_071, "queue": "q" * 64},
    {"id": "long-and-wide", "command": "true", "env": '{"A": "' + "ß😀" * 20_000 + '"}'},
    {"id": "words", "command": "ls -l", "argv": '["ls", "-l", "it\'s", ""]', "tags": ",a,b/c,"},
    {"id": "tenth", "backoff_base": 0.1, "backoff_strategy": "exponential"},
    {"id": "third", "backoff_base": 1 / 3},
    {"id": "whole", "backoff_base": 2.0},
    {"id": "sum", "backoff_base": 0.1 + 0.2},
    {"id": "vast", "backoff_base": 1e300},
    {"id": "tiny", "backoff_base": 2.2250738585072014e-308},
    {"id": "most", "run_at": MOST, "timeout": MOST, "backoff_max": MOST, "priority": INT32, "runs": INT32},
    {"id": "least", "priority": -INT32, "created_at": -1, "exit_code": -INT32 - 1, "retry_delay": 0},
    {"id": "over", "state": "dead", "finished_at": NOW, "signal": 9, "lost": 5, "started_at": NOW},
    {"id": "later", "state": "scheduled", "run_at": NOW + 10**9},
    {"id": "again", "state": "failed", "attempts": 2, "runs": 7, "last_error": "exit code 1: ✗"},
    {"id": "stopped", "state": "cancelled", "finished_at": NOW},
    {"id": "held", "state": "blocked", "held": 1},
    {"id": "waits", "state": "blocked", "waits": 2, "run_at": NOW + 10**9},
    {"id": "unmet", "state": "cancelled", "waits": 1, "unmet": 1, "finished_at": NOW},
    {"id": "grouped", "state": "blocked", "job_group": "schedule:nightly", "schedule": "nightly"},
    {"id": "unique", "unique_key": "Schlüssel 😀 'x' \\"},
    {"id": "unique-too", "unique_key": "schlüssel 😀 'x' \\"},
    {"id": "was-unique", "unique_key": "Schlüssel 😀 'x' \\", "state": "dead", "finished_at": NOW},
    {"id": "needy", "needs": "gpu=1,license=2", "progress": 100, "progress_text": "épòque 4/10 ✓"},
    {
        "id": "ruled",
        "rules": '{"cpu_time": 1500, "files": 64, "memory": 1099511627776, "nice": -5, '
        '"no_retry_on": "2", "ok_codes": "0,3", "processes": 9, "retry_on": "75,128-255"}',
        "progress": 0,
        "progress_text": "",
    },
    {"id": "told", "notify": '{"command": "cat >> x", "on": ["dead"]}', "input": "ß\n", "state": "dead"},
    {
        "id": "told:notify-1",
        "queue": "notifications",
        "about": "told",
        "env": '{"QUEUECTL_NOTIFY_ID": "told", "QUEUECTL_NOTIFY_STATE": "dead"}',
        "input": "{}\n",
    },
    {"id": "mute", "notify": '{"command": null}'},
    {"id": "0=@:+_.-", "state": "completed", "finished_at": NOW, "exit_code": 0},
]

OUTPUTS: list[bytes | None] = [
    None,
    b"",
    b"plain",
    bytes(range(1, 256)),
    bytes(range(256)) * 64,
    "😀 ß".encode(),
    b"\\x00 \\N \\\\ '; DROP TABLE jobs; --",
    b"\xff\xfe\xed\xa0\x80 not text",
    b"   ",
]

SETTINGS = {"max-retries": "7", "shell": "/bin/bash", "job-timeout": "1h30m"}

_QUEUE: dict[str, object] = {
    "name": "",
    "concurrency": None,
    "rate": None,
    "burst": None,
    "rate_spent": None,
    "timeout": None,
    "max_retries": None,
    "backoff_strategy": None,
    "backoff_base": None,
    "backoff_max": None,
    "retry_delay": None,
    "paused_at": None,
    "paused_until": None,
    "pause_reason": None,
    "draining": None,
    "notify": None,
    "timeout_percent": None,
    "updated_at": NOW,
}
_SCHEDULE: dict[str, object] = {
    "name": "",
    "recurrence": "0 3 * * *",
    "zone": "UTC",
    "catch_up": "one",
    "overlap": "skip",
    "job": '{"command": "echo hi", "cwd": "/srv"}',
    "next_at": NOW,
    "paused_at": None,
    "last_at": None,
    "last_job": None,
    "fired": 0,
    "skipped": 0,
    "created_at": NOW,
    "updated_at": NOW,
}


def queue(name: str, **fields: object) -> dict[str, object]:
    return _QUEUE | {"name": name} | fields


def schedule(name: str, **fields: object) -> dict[str, object]:
    return _SCHEDULE | {"name": name} | fields


QUEUES = [
    queue("by-history", timeout_percent=300),
    queue("Told", notify='{"command": "tell 😀", "on": ["completed", "dead", "cancelled"]}'),
    queue("Mail", timeout=MOST, backoff_max=MOST, retry_delay=0, updated_at=MOST),
    queue("mail", concurrency=1_000_000, max_retries=0, backoff_strategy="linear", backoff_base=0.1),
    queue("q" * 64, rate="100/min", burst=7, rate_spent=NOW * 1_000_000 + 1),
    queue("stopped", paused_at=NOW, paused_until=NOW + 1, pause_reason="😀 'down' \\ "),
    queue("drained", draining=1),
]
GROUPS: list[dict[str, object]] = [
    {"name": "Schedule:nightly", "concurrency": 1_000_000, "updated_at": NOW},
    {"name": "schedule:nightly", "concurrency": 1, "updated_at": MOST},
    {"name": "x/y", "concurrency": 3, "updated_at": NOW},
]
SCHEDULES = [
    schedule("Nightly", next_at=None, paused_at=NOW, last_at=NOW, last_job="x" * 128, fired=MOST, skipped=1),
    schedule("nightly", zone="Europe/Berlin", catch_up="all", overlap="queue"),
    schedule(
        "often", recurrence="@every 10m", overlap="allow", job='{"command": "echo é😀 \\\\", "cwd": "/"}'
    ),
]
DEPENDENCIES: list[dict[str, object]] = [
    {"parent_seq": 2, "child_seq": 5, "kind": "success", "settled": None},
    {"parent_seq": 2, "child_seq": 8, "kind": "any", "settled": 1},
    {"parent_seq": 5, "child_seq": 2**40, "kind": "failure", "settled": 0},
]
UNSETTLED: list[dict[str, object]] = [{"seq": 2}, {"seq": 2**40}]

# What is said about all of it when it was moved.
AWKWARD_WORDS = (
    f"{len(AWKWARD)} jobs, {len(OUTPUTS)} attempts, {len(SETTINGS)} settings, "
    f"{len(DEPENDENCIES)} dependencies, {len(UNSETTLED)} unsettled jobs, "
    f"{len(QUEUES)} queues, {len(GROUPS)} groups, {len(SCHEDULES)} schedules"
)


def job(seq: int, **fields: object) -> dict[str, object]:
    return _JOB | {"seq": seq, "id": f"j{seq}"} | fields


def attempt(job_seq: int, run: int = 1, **fields: object) -> dict[str, object]:
    return _ATTEMPT | {"job_seq": job_seq, "run": run} | fields


def fill_awkwardly(url: str) -> None:
    """Every odd value in every table, with gaps in the numbers."""
    jobs = [job(3 * place + 2, **fields) for place, fields in enumerate(AWKWARD)]
    attempts = [
        attempt(
            int(str(jobs[place % 5]["seq"])), 11 - place, output=output, error="\\ '☃' " if output else None
        )
        for place, output in enumerate(OUTPUTS)
    ]
    insert(url, "jobs", *jobs)
    insert(url, "attempts", *attempts)
    insert(url, "config", *({"key": k, "value": v, "updated_at": NOW} for k, v in SETTINGS.items()))
    insert(url, "dependencies", *DEPENDENCIES)
    insert(url, "unsettled", *UNSETTLED)
    insert(url, "queues", *QUEUES)
    insert(url, "job_groups", *GROUPS)
    insert(url, "schedules", *SCHEDULES)


def fill(url: str, count: int = 300) -> None:
    """Ordinary jobs, a finished one after each waiting one; several chunks of them."""
    ended = {"state": "completed", "finished_at": NOW, "runs": 1, "attempts": 1, "exit_code": 0}
    insert(url, "jobs", *(job(seq, **(ended if seq % 2 else {})) for seq in range(1, count + 1)))
    insert(url, "attempts", *(attempt(seq, output=b"hello") for seq in range(1, count + 1, 2)))
    insert(url, "config", {"key": "max-retries", "value": "5", "updated_at": NOW})

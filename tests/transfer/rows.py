"""Jobs, attempts and settings to be moved: ordinary ones, and awkward ones."""

from __future__ import annotations

from tests.samples import NOW
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


def job(seq: int, **fields: object) -> dict[str, object]:
    return _JOB | {"seq": seq, "id": f"j{seq}"} | fields


def attempt(job_seq: int, run: int = 1, **fields: object) -> dict[str, object]:
    return _ATTEMPT | {"job_seq": job_seq, "run": run} | fields


def fill_awkwardly(url: str) -> None:
    """Every odd value, with gaps in the numbers, and attempts of jobs."""
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


def fill(url: str, count: int = 300) -> None:
    """Ordinary jobs, a finished one after each waiting one; several chunks of them."""
    ended = {"state": "completed", "finished_at": NOW, "runs": 1, "attempts": 1, "exit_code": 0}
    insert(url, "jobs", *(job(seq, **(ended if seq % 2 else {})) for seq in range(1, count + 1)))
    insert(url, "attempts", *(attempt(seq, output=b"hello") for seq in range(1, count + 1, 2)))
    insert(url, "config", {"key": "max-retries", "value": "5", "updated_at": NOW})

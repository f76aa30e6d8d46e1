"""A store as it might look on a weekday: for pages that should show something of everything."""

from __future__ import annotations

import math
import sqlite3
import time
from contextlib import closing
from typing import Any

import httpx

from queuectl.testing import wait_until
from tests.support.home import Home
from tests.support.http import ok

PAGES = (
    "overview",
    "jobs",
    "jobs?state=dead",
    "jobs/report-7",
    "jobs/nightly-import",
    "queues",
    "workers",
    "schedules",
    "dead",
    "new",
    "settings",
)
_IMPORT = """#!/bin/sh
printf '\\033[1mimporting\\033[0m 3 files\\n'
echo 'users.csv: 1,204 rows'
printf '\\033[33mwarning\\033[0m: orders.csv has 2 rows without a date\\n' >&2
echo 'orders.csv: 88,110 rows'
for n in 1 2 3 4 5 6 7; do printf "\\033[3${n}mpart $n\\033[0m "; done | tee /dev/stderr
echo; echo >&2
while [ ! -e never ]; do sleep 0.2; done
"""


def fill_store(api: httpx.Client, home: Home) -> None:
    """Jobs in every state, a worker that runs two, queues with limits and a pause, schedules."""
    script = home.work / "import.sh"
    script.write_text(_IMPORT)
    script.chmod(0o755)
    jobs: list[dict[str, Any]] = [
        {
            "command": "./import.sh --all --since yesterday",
            "id": "nightly-import",
            "queue": "data",
            "tags": ["nightly", "import"],
        },
        {"command": "./import.sh thumbnails", "id": "thumbnails", "queue": "media"},
        *(
            {"command": f"./report.sh --month {n}", "id": f"report-{n}", "queue": "reports", "max_retries": 0}
            for n in (5, 6)
        ),
        {
            "command": "echo 'connecting to reports:5432'; echo 'FATAL: too many connections' >&2; exit 3",
            "id": "report-7",
            "queue": "reports",
            "max_retries": 0,
            "tags": ["monthly"],
        },
        *(
            {"command": f"echo sent invoice {n} # send-invoice {n}", "id": f"invoice-{n}", "queue": "mail"}
            for n in range(9)
        ),
        {
            "command": "exit 1 # sync-crm --full",
            "id": "sync-crm",
            "queue": "data",
            "max_retries": 4,
            "retry_delay": "10m",
        },
    ]
    ok(api.post("/jobs/batch", json={"jobs": jobs}), 201)
    home.start(concurrency=4)
    ends = [job["id"] for job in jobs if job["id"] not in ("nightly-import", "thumbnails")]
    with home.queue() as queue:
        wait_until(
            lambda: all(queue.get(id).state in ("completed", "dead", "failed") for id in ends),
            timeout=60,
            what="the short jobs to end",
        )
    later: list[dict[str, Any]] = [
        {
            "command": "tar czf /backup/data.tgz data",
            "id": "backup",
            "queue": "data",
            "run_at": "+3h",
            "priority": 5,
        },
        {"command": "./publish.sh", "id": "publish", "after": ["nightly-import"], "queue": "data"},
        {"command": "ffmpeg -i talk.mov -crf 23 talk.mp4", "id": "talk", "queue": "media-archive"},
        *(
            {"command": f"./newsletter.sh --part {n}", "id": f"newsletter-{n}", "queue": "newsletter"}
            for n in range(60)
        ),
    ]
    for queue_name, body in (
        ("newsletter", {"reason": "mail server is moving", "until": "2h"}),
        ("media-archive", {}),
    ):
        ok(api.patch(f"/queues/{queue_name}", json={"concurrency": 2, "rate": "100/min"}))
        ok(api.post(f"/queues/{queue_name}/pause", json=body))
    ok(api.post("/jobs/batch", json={"jobs": later}), 201)
    ok(api.post("/jobs/newsletter-3/cancel"))
    ok(api.post("/jobs/newsletter-4/hold"))
    for name, recurrence, command in (
        ("backup", "0 3 * * *", "tar czf /backup/all.tgz /srv"),
        ("crm-sync", "@every 15m", "sync-crm --delta"),
        ("month-end", "0 6 1 * *", "./report.sh --all"),
    ):
        ok(api.put(f"/schedules/{name}", json={"recurrence": recurrence, "job": {"command": command}}), 201)
    ok(api.post("/schedules/month-end/pause"))


def fill_history(home: Home) -> None:
    """The hour before, as the keepers of the history would have left it: for pictures."""
    now = int(time.time() // 60)
    rows: list[tuple[int, str, int]] = []
    for ago in range(2, 60):
        busy = 1 + math.sin(ago / 7) / 2 + math.sin(ago * 2.3) / 6
        kinds = {
            "completed": 42 * busy,
            "failed": 3 * busy if ago % 5 else 9,
            "dead": 2 if ago % 17 == 4 else 0,
            "samples": 1,
            "depth processing": min(4, 4 * busy),
            "depth pending": 90 * busy * busy,
            "depth scheduled": 12,
            "depth failed": 6 * busy,
            "wait 20": 30,
            "wait 22": 14 * busy,
            "wait 24": 3 * busy * busy,
            "run 18": 30,
            "run 23": 10,
            "run 25": 3 * busy,
        }
        rows += [(now - ago, kind, round(amount)) for kind, amount in kinds.items() if round(amount)]
    with closing(sqlite3.connect(home.address)) as store, store:
        store.executemany("INSERT OR REPLACE INTO history VALUES (1, '', ?, ?, ?)", rows)

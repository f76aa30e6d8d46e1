"""A store whose every text was written by an enemy, past all of our own checks."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from queuectl import queues
from queuectl.queue import Queue
from tests.support.fake_worker import FakeWorker, err, out

# A title, the clipboard, a link, colours, C1, a report that is as if typed, and text that runs backwards.
EVIL = "\x1b]0;t\x07\x1b]52;c;aGk=\x07\x1b]8;;http://x\x1b\\\x1b[31m\x9b2J\x1b[6n\x08\x7f\x00\r\n"
EVIL += "\u202e\u2066\u200f\ufeffPWNED"
# What can be typed of it, and what an id could be when nobody has looked at it.
TYPED = EVIL.replace("\x00", "")
ID = "job" + TYPED

# Texts that are shown as they are. Others have a meaning (JSON, a state): see TWISTED.
SHOWN = {
    "jobs": ("command", "queue", "last_error", "worker_id", "cwd", "progress_text", "job_group",
    "schedule"),
    "attempts": ("worker_id", "host", "error", "claim"),
    "workers": ("id", "host", "queues", "provides", "control"),
    "queues": ("name", "pause_reason", "rate"),
    "schedules": ("name", "zone", "recurrence", "last_job"),
    "job_groups": ("name",),
    "tallies": ("queue",),
    "history": ("queue",),
}  # fmt: skip


def furnish(queue: Queue) -> None:
    """A row in every table, and a job in every state."""
    fake_worker = FakeWorker(queue)
    fake_worker.add_jobs_in_every_state()
    for id in ("dead", "alive"):
        queue.enqueue("true", id=id, max_retries=0, tags=["t"], env={"A": "b"}, group="g", unique_key=id)
    fake_worker.fail("dead", output=out(EVIL.encode()) + err(b"x\n" + EVIL.encode()))
    queue.enqueue("true", id="child", after=["alive"])
    queues.pause(queue, "mail", reason="because")


def poison(file: Path) -> None:
    """Put EVIL into every text that is shown; ids stay different from each other."""
    with closing(sqlite3.connect(file)) as db:
        db.execute("PRAGMA busy_timeout = 10000")
        for table, columns in SHOWN.items():
            for column in columns:
                db.execute(f"UPDATE OR REPLACE {table} SET {column} = ?", (EVIL,))
        db.execute("UPDATE jobs SET id = ? || seq, unique_key = ? || seq", (ID, EVIL))
        db.execute("UPDATE jobs SET tags = ?, env = ?", (f",{EVIL},", json.dumps({EVIL: EVIL})))
        db.execute("UPDATE jobs SET argv = ? WHERE seq % 2", (json.dumps([EVIL, EVIL]),))
        db.execute("INSERT OR REPLACE INTO config (key, value, updated_at) VALUES (?, ?, 0)", (EVIL, EVIL))
        db.commit()

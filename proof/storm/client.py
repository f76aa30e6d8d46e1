"""`python -m proof.storm.client`: a program that enqueues all the time, and may be killed at any moment.

An acknowledgement is written down when the call has returned, and not before. What comes after the last that
was written down is sent again, under the same ids: by this process after a failure, by the next after a kill.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from proof.storm.plan import Plan, job
from queuectl import Queue
from queuectl.errors import StoreError
from queuectl.queue import JobFilter

MOST_AT_ONCE = 40
MOST_WAITING = 1_500  # jobs; the storm shall go over jobs that come in, not over a heap
AFTER_ALL = 0.1  # of the pace, when all jobs were sent and the storm goes on


@dataclass(frozen=True)
class Task:
    """What one client has to do, as its process is told."""

    plan: Plan
    name: str
    url: str
    log: str
    acks: str
    enough: str  # a file: when it is there, it is over
    share: int  # of the jobs
    began: float  # of the monotonic clock, which all processes share

    def spelled(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> Task:
        told = json.loads(text)
        return cls(**{**told, "plan": Plan(**told["plan"])})

    def due(self) -> int:
        """How many are to be sent by now."""
        pace = self.share / self.plan.seconds
        passed = time.monotonic() - self.began
        beyond = max(passed - self.plan.seconds, 0.0)
        return int(pace * (passed - beyond) + AFTER_ALL * pace * beyond)


def acknowledged(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


def main(task: Task) -> None:
    file = Path(task.acks)
    sent = len(acknowledged(file))
    dice = random.Random(f"{task.plan.seed}/{task.name}/from {sent}")
    queue: Queue | None = None
    with file.open("ab", buffering=0) as acks:
        while not os.path.exists(task.enough):
            size = min(dice.randint(1, MOST_AT_ONCE), task.due() - sent)
            try:
                queue = queue or Queue.open(task.url)
                if size <= 0 or queue.store.unfinished(JobFilter()) > MOST_WAITING:
                    time.sleep(0.05)
                    continue
                jobs = [job(task.plan, task.name, sent + more, Path(task.log)) for more in range(size)]
                queue.enqueue_many([*jobs], if_exists="skip")
            except StoreError:
                if queue is not None:
                    queue.close()
                queue = None
                time.sleep(0.2)
                continue
            acks.write("".join(f"{one['id']}\n" for one in jobs).encode())
            sent += size


if __name__ == "__main__":
    main(Task.read(sys.argv[1]))

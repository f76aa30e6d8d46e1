"""Those who use the queue while the power fails: they enqueue, they wait, they note elsewhere what they hear.

`python -m proof.power_clients STORE NOTES NAME`: ids that were acknowledged go to NOTES/acknowledged, those
that `wait` said are completed to NOTES/heard, and when. A note is one write, after the call has returned.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue

from proof.checker import LOG, recorded
from queuectl import Queue
from queuectl.core import states

ACKNOWLEDGED, HEARD = "acknowledged", "heard"
_ENQUEUERS = 2
_PACE = 0.01  # seconds between two calls: workers should keep up
_BATCH, _EVERY = 10, 7  # every so many calls store so many jobs at once
LONG = 4000  # lines: more than is kept in the store


def printed(id: str) -> str:
    """What a job prints; every third one so much that it goes to a file."""
    number = int(id.rpartition("-")[2])
    return "".join(f"{line}\n" for line in range(1, LONG + 1)) if number % 3 == 0 else f"{id}\n"


def _command(id: str, notes: Path) -> str:
    number = int(id.rpartition("-")[2])
    return recorded(f"seq 1 {LONG}" if number % 3 == 0 else f"echo {id}", notes / LOG)


def _noter(file: Path) -> Callable[[list[str]], None]:
    fd = os.open(file, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def note(ids: list[str]) -> None:
        now = time.monotonic_ns()
        os.write(fd, "".join(f"{id} {now}\n" for id in ids).encode())

    return note


def _enqueue(store: str, notes: Path, name: str, told: SimpleQueue[str]) -> None:
    note = _noter(notes / ACKNOWLEDGED)
    pause = threading.Event()
    number = 0
    with Queue.open(store) as queue:
        while True:
            ids = [f"{name}-{number + more}" for more in range(_BATCH if number % _EVERY == 0 else 1)]
            number += len(ids)
            queue.enqueue_many(
                [{"id": id, "command": _command(id, notes), "cwd": str(notes)} for id in ids],
            )
            note(ids)
            for id in ids:
                told.put(id)
            pause.wait(_PACE)


def _wait(store: str, notes: Path, told: SimpleQueue[str]) -> None:
    note = _noter(notes / HEARD)
    with Queue.open(store) as queue:
        while True:
            id = told.get()
            queue.wait([id])
            if queue.get(id).state == states.COMPLETED:
                note([id])


def main() -> None:
    store, notes, name = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
    told: SimpleQueue[str] = SimpleQueue()
    for number in range(_ENQUEUERS):
        threading.Thread(target=_enqueue, args=(store, notes, f"{name}-{number}", told)).start()
    threading.Thread(target=_wait, args=(store, notes, told)).start()


if __name__ == "__main__":
    main()

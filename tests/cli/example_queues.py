"""Queues and files in which the examples of the help texts make sense: jobs are named as they name them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.support.fake_worker import FakeWorker

from queuectl import queues, schedules
from queuectl.app import export_queue
from queuectl.keeping import make_backup
from queuectl.queue import Queue

DATA = Path(__file__).parents[1] / "takeover" / "data"
JOBS = ("job1", "job2", "deploy")
PROGRAMS = (
    *("make", "convert", "flac", "mail", "dot", "jq", "pg_dump", "./deploy", "./flaky-test", "./process"),
    "./x",
)
FILES = {
    "a.log": "a\n",
    "b.log": "b\n",
    "a.png": "",
    "a.wav": "",
    "data/one": "",
    "list.txt": "a.log\nb.log\n",
    "commands.txt": "true\necho hello\n",
    "jobs.jsonl": '{"command":"true"}\n{"command":"echo hello"}\n',
    "people.csv": "address,letter\nana@example.org,a.log\n",
    "t.csv": "name,size\nx,1\n",
    "state.json": (DATA / "pueue-4.json").read_text(),
    "run.log": (DATA / "parallel.log").read_text(),
}

# Which queue an example finds, by how it begins; the longest that fits counts. Else: jobs that wait.
NEEDED = {
    "enqueue": "nothing",
    "enqueue --after": "waiting",
    "run": "nothing",
    "map": "nothing",
    "wait": "ended",
    "logs": "ended",
    "show": "ended",
    "queue drain": "ended",
    "copy": "ended",
    "export": "ended",
    "import": "nothing",
    "import-pueue": "nothing",
    "schedule add": "nothing",
    "dlq": "dead",
    "retry": "dead",
    "release": "held",
    "progress": "running",
}


def kind_for(words: tuple[str, ...]) -> str:
    fitting = [start for start in NEEDED if words[: len(start.split())] == tuple(start.split())]
    return NEEDED[max(fitting, key=len)] if fitting else "waiting"


def build(kind: str, home_dir: Path) -> dict[str, str]:
    """Make the queue in `home`; returns what the environment of an example says of it."""
    with Queue.open(str(home_dir / "queue.db")) as queue:
        if kind == "nothing":
            return {}
        for id in JOBS:
            queue.enqueue(f"echo {id}", id=id, queue="mail", tags=["nightly"], max_retries=1)
        queue.enqueue("echo after", id="after", after=["deploy"], queue="mail")
        queue.enqueue("true", id="trial", queue="gpu", tags=["trial"], delay="1h", hold=kind == "held")
        schedules.add(queue, "nightly", "0 3 * * *", {"command": "true"}, zone="UTC")
        fake_worker = FakeWorker(queue)
        try:
            return _FILLED[kind](queue, fake_worker)
        finally:
            fake_worker.leave()


def _waiting(queue: Queue, _: FakeWorker) -> dict[str, str]:
    queues.pause(queue, "gpu")
    return {}


def _ended(queue: Queue, fake_worker: FakeWorker) -> dict[str, str]:
    for id in JOBS:
        fake_worker.fail(id, output=b"\0\0")
        fake_worker.complete(id)
    fake_worker.complete("after")
    queue.cancel("trial")
    queue.remove("trial")
    return {}


def _dead(_: Queue, fake_worker: FakeWorker) -> dict[str, str]:
    for id in JOBS:
        fake_worker.kill(id)
    return {}


def _held(queue: Queue, _: FakeWorker) -> dict[str, str]:
    from queuectl.editing import hold

    for id in JOBS:
        hold(queue, id)
    return {}


def _running(_: Queue, fake_worker: FakeWorker) -> dict[str, str]:
    job = fake_worker.claim("job1")
    return {"QUEUECTL_JOB_ID": job.id, "QUEUECTL_ATTEMPT_TOKEN": job.token}


_FILLED: dict[str, Callable[[Queue, FakeWorker], dict[str, str]]] = {
    "waiting": _waiting,
    "ended": _ended,
    "dead": _dead,
    "held": _held,
    "running": _running,
}
KINDS = ("nothing", *_FILLED)


def make_files(folder: Path, root: Path) -> None:
    """The files that examples name, and programs that do nothing."""
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name in PROGRAMS:
        path = folder / name if name.startswith("./") else folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("#!/bin/sh\nexit 0\n")
        path.chmod(0o755)
    for name in ("queue.jsonl", "saved.db"):
        shutil.copy(root / name, folder / name)


class Templates:
    """Each kind of queue, made once and copied for each example."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._environments = {kind: build(kind, root / kind) for kind in KINDS}
        lines: list[str] = []
        export_queue(str(root / "ended" / "queue.db"), lines.append, progress=_quietly)
        (root / "queue.jsonl").write_text("".join(lines))
        make_backup(str(root / "ended" / "queue.db"), str(root / "saved.db"), progress=_quietly)

    def copy(self, kind: str, folder: Path) -> dict[str, str]:
        """That queue as a home in `folder`, with its files; returns the environment."""
        shutil.copytree(self._root / kind, folder / "home")
        make_files(folder / "work", self._root)
        (folder / "backup").mkdir()
        (folder / "srv").mkdir()
        path = f"{folder / 'work' / 'bin'}{os.pathsep}{os.environ['PATH']}"
        home_dir = {"HOME": str(folder), "QUEUECTL_HOME": str(folder / "home"), "PATH": path}
        return {**home_dir, **self._environments[kind]}


def _quietly(*_: object) -> None:
    """Nobody watches."""

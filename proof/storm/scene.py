"""Where a storm takes place: a store, one or two installations that work on it, and who staffs them.

On a server there are two: the workers of one reach it straight, those of the other by a way that can be cut.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from tests.support.home import Home
from tests.support.proxy import Proxy
from tests.support.servers.private import SERVERS, PrivateServer

from proof.checker import LOG
from proof.storm.clients import Person, Program
from proof.storm.plan import Plan
from queuectl import Queue

WORKER, SUPERVISOR = b"serve", b"supervise"  # the words by which their processes are known
_FLEET = 2  # workers of one `worker start`
_SLOTS = 4
_START_WITHIN = 15.0  # seconds: then another operator would look after it


class Scene:
    """All that the troubles have to do with. `over`: no more of them; `closing`: no more workers either."""

    def __init__(
        self, plan: Plan, directory: Path, server: PrivateServer | None, proxy: Proxy | None
    ) -> None:
        self.plan = plan
        self.directory = directory
        self.log = directory / LOG
        self.server = server
        self.proxy = proxy
        self.near = Home(_room(directory, "near"), url=server.fresh_url() if server else None)
        self.homes = [self.near]
        if proxy is not None and self.near.url is not None:
            url = _by_way_of(proxy, self.near.url)
            self.homes.append(Home(_room(directory, "far"), url=url))
        self.over = threading.Event()
        self.closing = threading.Event()
        self.tally: Counter[str] = Counter()
        self.standing: set[int] = set()  # stopped processes, which the killer leaves alone
        self.programs: list[Program] = []
        self.person = Person(plan, self.homes[-1], self.log)
        self._lock = threading.Lock()

    def queue(self) -> Queue:
        """`Home.queue` changes the environment for a moment: one thread at a time."""
        with self._lock:
            return self.near.queue()

    def processes(self, word: bytes) -> list[int]:
        return sorted(pid for home in self.homes for pid in processes(home, word))

    def acknowledged(self) -> list[str]:
        return [
            *(id for program in self.programs for id in program.acknowledged),
            *self.person.acknowledged,
        ]

    def said(self, text: str) -> int:
        """How often the workers' logs do."""
        files = [Path(home.location.logs_dir) / "workers.log" for home in self.homes]
        return sum(file.read_text(errors="replace").count(text) for file in files if file.exists())


@contextmanager
def scene(plan: Plan, directory: Path) -> Iterator[Scene]:
    """A fresh one; nothing of it is left at the end."""
    with ExitStack() as stack:
        server = proxy = None
        if plan.engine in SERVERS:
            server = stack.enter_context(SERVERS[plan.engine]())
            proxy = stack.enter_context(Proxy(upstream=("127.0.0.1", server.port), protocol=plan.engine))
        it = Scene(plan, directory, server, proxy)
        for home in it.homes:
            stack.callback(home.close)
        _configure(it)
        yield it


def _configure(scene: Scene) -> None:
    scene.near.configure(
        worker_heartbeat_interval="500ms",
        worker_lease=f"{scene.plan.lease:g}s",
        kill_grace="1s",
        # It shall not be the storm that a job dies of.
        crash_limit=1_000,
        backoff_strategy="fixed",
        job_retry_delay="300ms",
    )


def keep_staffed(scene: Scene) -> None:
    """What an operator does: where too few workers are left, start some more."""
    under_way: dict[Home, tuple[subprocess.Popen[bytes], float]] = {}
    try:
        while not scene.closing.wait(0.4):
            for home in scene.homes:
                if home in under_way and not _is_over(*under_way[home]):
                    continue
                if len(processes(home, WORKER)) < scene.plan.workers:
                    under_way[home] = _start_fleet(home), time.monotonic()
                    scene.tally["starts of fleets"] += 1
    finally:
        for process, _ in under_way.values():
            process.kill()
            process.wait()


def _is_over(start: subprocess.Popen[bytes], began: float) -> bool:
    if start.poll() is None and time.monotonic() - began > _START_WITHIN:
        start.kill()
        start.wait()
    return start.poll() is not None


def _start_fleet(home: Home) -> subprocess.Popen[bytes]:
    words = ("worker", "start", "--count", str(_FLEET), "--concurrency", str(_SLOTS))
    return subprocess.Popen(
        [sys.executable, "-m", "queuectl", *words],
        env=home.env,
        cwd=home.work,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def processes(home: Home, word: bytes) -> list[int]:
    """Those of our own programs; commands of jobs have other words. `Home.pids` reads more than we need."""
    mark = f"QUEUECTL_HOME={home.path}".encode()
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        words = _read(name, "cmdline")
        if word in words and b"queuectl" in words and mark in _read(name, "environ"):
            found.append(int(name))
    return found


def _read(pid: str, name: str) -> list[bytes]:
    try:
        return Path("/proc", pid, name).read_bytes().split(b"\0")
    except OSError:  # it has ended
        return []


def _room(directory: Path, name: str) -> Path:
    os.mkdir(directory / name)
    return directory / name / "home"


def _by_way_of(proxy: Proxy, url: str) -> str:
    parts = urlsplit(url)
    user = parts.netloc.rpartition("@")[0]
    return parts._replace(netloc=f"{user}@{proxy.host}:{proxy.port}").geturl()

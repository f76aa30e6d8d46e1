"""The stage of one point on one engine: a store that is kept over many rounds, and real processes in it.

Each round has jobs, a log and a fuse of its own: the first process that comes to the armed point burns the
fuse and acts, and nobody after it.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support.engines import fresh_store
from tests.support.home import Home
from tests.support.processes import is_stopped

from proof.checker import RunLog, examine, recorded
from proof.verdict import Verdict
from queuectl.queue import JobFilter
from queuectl.testing import wait_until

PATIENCE = 60.0  # seconds; the machine may be busy with the other lanes
KILL, EXIT, STOP, RAISE = "kill9", "exit:3", "stop", "raise:EIO"


class Missed(Exception):
    """Nobody came to the point: the round has shown nothing."""


class Stage:
    """A site, and what the rounds on it have in common. Scenes tell it what to do."""

    def __init__(self, engine: str) -> None:
        self.engine = engine
        self.number = 0
        self.extra: list[str] = []  # what a scene has found wrong by itself
        self._directory = Path(tempfile.mkdtemp(prefix="queuectl-matrix-"))
        self._places = fresh_store(engine)
        self.home = Home(self._directory / "home", url=self._places.__enter__())
        self._started: list[subprocess.Popen[bytes]] = []
        self._survivor: subprocess.Popen[bytes] | None = None
        self.fuse = self.home.work / "fired"
        self.acknowledged: list[str] = []

    def close(self) -> None:
        self.home.close()
        for process in self._started:
            process.wait(PATIENCE)
        self._places.__exit__(None, None, None)
        shutil.rmtree(self._directory, ignore_errors=True)

    # --- rounds -------------------------------------------------------------------------------------------

    def begin(self, number: int, point: str, action: str, following: str) -> None:
        """`following`: the action of the next round, for whoever survives this one."""
        self.number, self.point, self.action, self._following = number, point, action, following
        self.acknowledged, self.extra = [], []
        self.log = self.file("runs")
        self.fuse.unlink(missing_ok=True)
        self.env = self._armed(action)

    def _armed(self, action: str) -> dict[str, str]:
        return {
            "QUEUECTL_ENABLE_FAILPOINTS": "1",
            "QUEUECTL_FAILPOINT": f"{self.point}={action}",
            "QUEUECTL_FAILPOINT_ONCE": str(self.fuse),
        }

    def file(self, name: str) -> Path:
        return self.home.work / f"{name}{self.number}"

    def put(self, count: int, command: str = "true", **fields: object) -> list[str]:
        """Enqueue jobs, and hear that they are stored."""
        first = len(self.acknowledged)
        ids = [f"r{self.number}-{n}" for n in range(first, first + count)]
        common = {"command": recorded(command, self.log), "cwd": str(self.home.work), "max_retries": 5}
        with self.home.queue() as queue:
            queue.enqueue_many([{"id": id, **common, **fields} for id in ids])
        self.acknowledged += ids
        return ids

    def put_hanging(self, count: int) -> list[Path]:
        """Jobs that end in their second run only, whatever that counts. The files tell of the first."""
        hung = self.file("hung")
        once = f'f={hung}-"$QUEUECTL_JOB_ID"; test -e "$f" || {{ : > "$f"; sleep 60; }}'
        return [self.home.work / f"{hung.name}-{id}" for id in self.put(count, once)]

    def await_hanging(self, files: list[Path]) -> None:
        """All of them: one that has not hung yet would do so in its second run."""
        wait_until(lambda: all(file.exists() for file in files), timeout=PATIENCE, what="the first runs")

    def verdict(self) -> Verdict:
        """When all jobs have ended and everybody has gone."""
        living = [self._survivor.pid] if self._survivor is not None else []
        verdict = examine(self.home, self.acknowledged, RunLog(self.log), living=living)
        for text in self.extra:
            verdict.note("unsound", text)
        for pid in set(self.home.pids()) - set(living):
            verdict.note("orphans", f"process {pid} is left over")
        return verdict

    # --- processes ------------------------------------------------------------------------------------------

    def spawn(self, *words: str, armed: bool = False) -> subprocess.Popen[bytes]:
        """A command in a process of its own."""
        return self.execute([sys.executable, "-m", "queuectl", *words], armed=armed)

    def execute(self, command: list[str], *, armed: bool = False) -> subprocess.Popen[bytes]:
        with open(self.home.work / "said", "ab") as said:
            process = subprocess.Popen(
                command,
                env={**self.home.env, **(self.env if armed else {})},
                cwd=self.home.work,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
            )
        self._started.append(process)
        return process

    def supervise(self, *, armed: bool) -> subprocess.Popen[bytes]:
        """A supervisor with one worker of two slots."""
        return self.spawn("worker", "supervise", "--count", "1", "--concurrency", "2", armed=armed)

    def work_alone(self, *, armed: bool = False) -> subprocess.Popen[bytes]:
        """A worker that nobody replaces."""
        return self.spawn("worker", "serve", "--concurrency", "2", armed=armed)

    def fires_in(self, *words: str) -> None:
        """A command that comes to the armed point."""
        self.fires(self.spawn(*words, armed=True))

    def fires(self, process: subprocess.Popen[bytes]) -> None:
        wait_until(
            lambda: self.fuse.exists() or process.poll() is not None, timeout=PATIENCE, what="the command"
        )
        self.await_fire(within=0.1)
        process.wait(PATIENCE)

    def await_fire(self, *, within: float = PATIENCE) -> None:
        """Until somebody has come to the point; whoever stands still there goes on."""
        try:
            wait_until(self.fuse.exists, timeout=within)
        except AssertionError:
            raise Missed(f"nobody came to the point; they said: {self.last_words()}") from None
        if self.action == STOP:
            still = wait_until(
                lambda: list(filter(is_stopped, self.home.pids())), timeout=PATIENCE, what="the stop"
            )
            os.kill(still[0], signal.SIGCONT)

    def last_words(self) -> str:
        said = self.home.work / "said"
        return said.read_text(errors="replace")[-300:] if said.exists() else ""

    def succeed(self, *words: str) -> None:
        process = self.spawn(*words)
        code = process.wait(PATIENCE)
        if code != 0:
            self.extra.append(f"queuectl {' '.join(words[:2])} ended with {code}: {self.last_words()}")

    def repeat(self, *words: str) -> None:
        """What may have been done already; what has become of it is seen afterwards."""
        self.spawn(*words).wait(PATIENCE)

    # --- workers that succeed each other --------------------------------------------------------------------

    def take_survivor(self) -> subprocess.Popen[bytes] | None:
        """The one of the last round, if there is one: to start a worker is the dearest part of a round."""
        survivor, self._survivor = self._survivor, None
        return survivor if survivor is not None and survivor.poll() is None else None

    def retire(self) -> None:
        """No survivor stays for the next round."""
        survivor = self.take_survivor()
        if survivor is not None:
            self.stop(survivor)

    def go_on_after(self, victim: subprocess.Popen[bytes]) -> None:
        """The victim does what is left, if it has survived; else a successor, who lives on.

        It is armed for the next round; in this one the fuse has burnt.
        """
        with self.home.queue() as queue:

            def over() -> bool:
                return queue.store.unfinished(JobFilter()) == 0

            if self.action in (STOP, RAISE):
                wait_until(
                    lambda: victim.poll() is not None or over(), timeout=PATIENCE, what="all jobs to end"
                )
            if self.action in (STOP, RAISE) and victim.poll() is None:
                self.stop(victim)  # armed for this round's action, so of no use in the next
                return
            victim.wait(PATIENCE)
            self.env = self._armed(self._following)
            self._survivor = self.work_alone(armed=True)
            wait_until(over, timeout=PATIENCE, what="all jobs to end")
            wait_until(
                lambda: [w.pid for w in queue.store.workers()] == [self._survivor.pid],  # type: ignore[union-attr]
                timeout=PATIENCE,
                what="the successor to be alone",
            )

    # --- the end of a round ---------------------------------------------------------------------------------

    def settled(self) -> bool:
        with self.home.queue() as queue:
            return queue.store.unfinished(JobFilter()) == 0

    def settle(self) -> None:
        with self.home.queue() as queue:
            wait_until(
                lambda: queue.store.unfinished(JobFilter()) == 0, timeout=PATIENCE, what="all jobs to end"
            )

    def run_dry(self) -> None:
        """An undisturbed worker does what is left."""
        if not self.settled():
            worker = self.work_alone()
            self.settle()
            self.stop(worker)

    def stop(self, process: subprocess.Popen[bytes]) -> None:
        """Tell a worker or supervisor to end, and wait until it has."""
        if process.poll() is None:
            process.terminate()
        process.wait(PATIENCE)

    def dismiss(self, supervisor: subprocess.Popen[bytes]) -> None:
        """Kill a supervisor, and tell its worker to end: cheaper than its own last look at the store."""
        supervisor.kill()
        supervisor.wait(PATIENCE)
        for pid in self.home.pids():
            os.kill(pid, signal.SIGTERM)
        wait_until(lambda: not self.home.pids(), timeout=PATIENCE, what="the worker to end")

    def sweep(self) -> None:
        """End whoever is left, as an administrator would."""
        if self.home.pids():
            self.succeed("worker", "stop")

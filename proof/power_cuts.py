"""The power fails, again and again, while workers work and clients hear that jobs are stored and completed.

`python -m proof.power_cuts CUTS SEED` prints what was found as JSON. It wants a mount namespace of its own,
and the right to mount: see `power`. The home, with the store, its log and the files of output, is on the disk
that fails; what clients and jobs note is outside.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import apsw
from tests.support.home import Home

from proof.checker import LOG, RunLog, examine, examine_store, settle
from proof.power_clients import ACKNOWLEDGED, HEARD, printed
from proof.power_disk import Disk
from proof.verdict import Part, Verdict
from queuectl import Queue
from queuectl.core import states
from queuectl.core.chunks import STDOUT
from queuectl.outputs import stored_output
from queuectl.testing import wait_until

_CUTS_OF_ONE_STORE = 8
_LIMIT = 60.0
_LATEST = 0.8  # seconds of work until the power fails


class Era:
    """One store that goes through several power failures, and then gets all its work done."""

    def __init__(self, disk: Disk, root: Path, name: str, random: Random) -> None:
        self._disk = disk
        self._random = random
        self._name = name
        self.notes = root / name
        self.notes.mkdir()
        self.home = Home(disk.place / name)
        self.home.work = self.notes
        self._log = self.notes / LOG
        self.acknowledged: list[str] = []
        self.heard: list[str] = []
        self.verdict = Verdict()
        self.recoveries: list[float] = []
        self._interrupted: dict[str, int] = {}  # and how often they had been run
        self._processes: list[subprocess.Popen[bytes]] = []
        self._restored = 0  # when the power came back
        self._cuts = 0

    # --- who is at work -------------------------------------------------------------------------------------

    def _start(self, *words: str) -> None:
        with open(self.notes / "errors", "ab") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", *words],
                env={**self.home.env, "PYTHONPATH": str(Path(__file__).parent.parent)},
                cwd=self.notes,
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
            )
        self._processes.append(process)

    def stop(self) -> None:
        """As the power failure does: all at once."""
        self.home.close()
        for process in self._processes:
            process.wait()
        self._processes.clear()

    def start_clients(self) -> None:
        name = f"{self._name}-{self._cuts}"
        self._start("proof.power_clients", self.home.address, str(self.notes), name)

    def start_worker(self) -> None:
        count = self._random.choice(("1", "1", "2"))
        self._start("queuectl", "worker", "start", "--foreground", "--count", count, "--concurrency", "3")

    def last_words(self) -> str:
        return (self.notes / "errors").read_text(errors="replace")[-2_000:]

    def noted(self, what: str) -> dict[str, int]:
        """Ids, and when it was said of them."""
        return {id: int(when) for id, when in self._lines(what)}

    def _lines(self, what: str) -> list[list[str]]:
        """The words of a file that somebody may be writing to: only of whole lines."""
        file = self.notes / what
        text = file.read_text() if file.exists() else ""
        return [line.split(" ") for line in text[: text.rfind("\n") + 1].splitlines()]

    def _starts(self) -> Counter[str]:
        """How often each job has been run."""
        return Counter(words[1] for words in self._lines(LOG) if words[0] == "start")

    # --- the failure ----------------------------------------------------------------------------------------

    def suffer(self) -> None:
        """Let all of them work, cut the power, see what is left."""
        fresh = self._cuts == 0
        before = len(self.noted(ACKNOWLEDGED))
        self.start_clients()
        began = time.monotonic()
        if not fresh:
            self.start_worker()
            wait_until(lambda: len(self.noted(ACKNOWLEDGED)) > before, timeout=_LIMIT, what="an answer")
            self._watch_recovery(began)
        time.sleep(self._random.uniform(0, _LATEST))  # at any instant, also while the store is being made
        self.cut()
        self._cuts += 1
        self._look()

    def cut(self) -> None:
        """Only what was said or run before it counts: afterwards there is nobody any more.

        The kernel, which goes on here, may end a sync that was under way as if it had succeeded: its part of
        the journal was given up together with that of another process, so there is nothing left to wait for.
        """
        runs = self._log.read_text() if self._log.exists() else ""
        instant = time.monotonic_ns()
        self._disk.cut()
        self.stop()
        self._disk.restore()
        self._log.write_text(runs[: runs.rfind("\n") + 1])
        for what, said in ((ACKNOWLEDGED, self.acknowledged), (HEARD, self.heard)):
            said += [id for id, when in self.noted(what).items() if self._restored < when < instant]
        self._restored = time.monotonic_ns()

    def _watch_recovery(self, began: float) -> None:
        """Until a job that the last failure has interrupted is run again."""
        if not self._interrupted:
            return

        def again() -> bool:
            starts = self._starts()
            return any(starts[id] > runs for id, runs in self._interrupted.items())

        wait_until(again, timeout=_LIMIT, what="a job that was interrupted to run again")
        self.recoveries.append(time.monotonic() - began)

    def _look(self) -> None:
        """Nobody has done anything to the store by hand; it is opened as always."""
        with self.home.queue() as queue:
            examine_store(queue, self.verdict)
            found = _states(queue)
            for id in self.acknowledged:
                if id not in found:
                    self.verdict.note("lost", f"{id} was acknowledged and is gone after the power failure")
            for id in self.heard:
                if found.get(id) != states.COMPLETED:
                    self.verdict.note("lost", f"{id} was said to be completed and is {found.get(id)}")
                else:
                    self._look_at_output(queue, id)
            # One that was interrupted for the first time runs again at once.
            running = [id for id, state in found.items() if state == states.PROCESSING]
            starts = self._starts()
            self._interrupted = {id: starts[id] for id in running if not queue.get(id).lost}

    def _look_at_output(self, queue: Queue, id: str) -> None:
        job = queue.get(id)
        last = queue.attempts(job)[-1]
        text = b"".join(chunk.data for chunk in stored_output(queue, job, last) if chunk.stream == STDOUT)
        if text != printed(id).encode():
            self.verdict.note("lost", f"the output of {id}, which is completed, has {len(text)} bytes")

    # --- the end --------------------------------------------------------------------------------------------

    def finish(self) -> Verdict:
        """All that is stored is run; nobody fails any more."""
        self.start_worker()
        settle(self.home, timeout=_LIMIT * 2)
        self.stop()
        with self.home.queue() as queue:
            for id, state in _states(queue).items():
                if state == states.COMPLETED:
                    self._look_at_output(queue, id)
        self.verdict.add(examine(self.home, self.acknowledged, RunLog(self._log)))
        return self.verdict


def _states(queue: Queue) -> dict[str, str]:
    db = queue.store.connection
    return {str(id): str(state) for id, state in db.all("SELECT id, state FROM jobs")}


def control(disk: Disk, root: Path) -> tuple[int, int]:
    """With `durability = normal` some must be lost, or all of this shows nothing: how many, of how many."""
    era = Era(disk, root, "control", Random(0))
    era.home.configure(durability="normal")
    era.start_clients()
    wait_until(lambda: len(era.noted(ACKNOWLEDGED)) >= 50, timeout=_LIMIT, what="jobs to be acknowledged")
    era.cut()
    with era.home.queue() as queue:
        found = _states(queue)
    return sum(id not in found for id in era.acknowledged), len(era.acknowledged)


@dataclass
class Told:
    """What all stores together went through."""

    completions: int = 0
    recoveries: list[float] = field(default_factory=list)
    gone: int = 0  # of the acknowledged jobs of a store with weaker promises
    of: int = 0


def carry_out(cuts: int, seed: int) -> Part:
    part, told, random = Part("power"), Told(), Random(seed)
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        disk = Disk(root)
        try:
            for first in range(0, cuts, _CUTS_OF_ONE_STORE):
                era = Era(disk, root, f"store{first}", random)
                try:
                    for _ in range(min(_CUTS_OF_ONE_STORE, cuts - first)):
                        era.suffer()
                    part.verdict.add(era.finish(), f"seed {seed}, store {first}")
                except AssertionError as error:
                    raise AssertionError(f"{error}; they said: {era.last_words()}") from error
                finally:
                    era.stop()
                told.completions += len(era.heard)
                told.recoveries += era.recoveries
            told.gone, told.of = control(disk, root)
        finally:
            disk.close()
    _report(part, told, cuts)
    return part


def _report(part: Part, told: Told, cuts: int) -> None:
    lost = part.verdict.lost
    part.times["the power is back → a job that it interrupted runs again"] = told.recoveries
    part.row("power failures", f"{cuts:,}")
    part.row("jobs acknowledged before one of them", f"{part.verdict.jobs:,}")
    part.row("completions that somebody was told of", f"{told.completions:,}")
    part.row("jobs, completions and output of these, gone afterwards", str(lost), "0", good=not lost)
    weaker = "for comparison, with `durability = normal`: acknowledged, and gone"
    part.row(weaker, f"{told.gone:,} of {told.of:,}", "> 0", good=told.gone > 0)
    part.row("SQLite", apsw.sqlite_lib_version())


if __name__ == "__main__":
    print(json.dumps(carry_out(int(sys.argv[1]), int(sys.argv[2])).as_json()))

"""Golden files: sessions with the command line, and exactly what each command prints.

A file has lines of these kinds; `make golden` writes those of the last three anew:

    # a remark
    == a title: from here on with an empty home
    @ complete job1        something happens meanwhile (`Session.STEPS` lists what can happen)
    < text                 a line of the file that `@ file NAME` above it makes
    $ queuectl list        a command; `< FILE` at its end is its stdin
    exit 1                 its exit code, if it is not 0
    | text                 a line of its stdout
    ! text                 a line of its stderr

The clock stands at a fixed time and goes on by a second before each command. What differs between two runs or
two machines (paths, generated ids, the host) stands there by a name in capitals.
"""

from __future__ import annotations

import itertools
import os
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from queuectl import __version__, system
from queuectl.core.durations import parse_duration
from queuectl.core.ids import new_ids
from queuectl.core.job import Job
from queuectl.core.outcome import SUCCEEDED
from queuectl.queue import Queue
from queuectl.testing import FakeClock
from tests.support.cli import Cli, Result
from tests.support.fake_worker import FakeWorker, err, out
from tests.support.jobs import NOW

REWRITE = os.environ.get("GOLDEN") == "rewrite"
# What differs between two runs, two machines or two versions of Python, and the name that stands for it.
_NAMED = {
    rf"\b{next(new_ids(NOW, 0))[:4]}[0-9a-z]{{9}}\b": "ID",
    r"(?<=T\d{6}Z-)[0-9a-f]{6}\b": "RANDOM",
    rf'(?<= on ){re.escape(system.hostname())}\b|(?<="host": "){re.escape(system.hostname())}(?=")': "HOST",
    r"(?<=\()[0-9.]+[KM](?=\))": "SIZE",
    rf'(?<=queuectl ){re.escape(__version__)}|(?<="version": "){re.escape(__version__)}': "VERSION",
}
# Newer versions of Python leave out the quotes here, and have a sentence of its own for a comma too many.
_CHOICES = re.compile(r"\(choose from [^)]*\)")
_COMMA = re.compile(r"column (\d+): Illegal trailing comma before end of object")


def shown(result: Result, names: dict[str, str]) -> list[str]:
    """The lines of a golden file for what a command printed; `names` stand for the paths of this run."""
    lines = [f"exit {result.code}"] if result.code else []
    for prefix, text in (("|", result.out), ("!", result.err)):
        lines += [f"{prefix} {line}".rstrip() for line in _steady(text, names).splitlines()]
    return lines


def _steady(text: str, names: dict[str, str]) -> str:
    for found, name in names.items():
        text = text.replace(found, name)
    for pattern, name in _NAMED.items():
        text = re.sub(pattern, name, text)
    text = _CHOICES.sub(lambda found: found[0].replace("'", ""), text)
    return _COMMA.sub(
        lambda found: f"column {int(found[1]) + 1}: Expecting property name enclosed in double quotes", text
    )


class Session:
    """Replays a golden file, one command after the other, in this process."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._directory = directory
        self._patch = monkeypatch
        self._clock = FakeClock(NOW)
        self._queue: Queue | None = None
        self._worker: FakeWorker | None = None
        self._inside_of: Job | None = None
        self._homes = 0
        monkeypatch.setattr(time, "time_ns", lambda: self._clock.now() * 1_000_000)
        for name, value in {"COLUMNS": "80", "TZ": "UTC", "TERM": "dumb"}.items():
            monkeypatch.setenv(name, value)
        time.tzset()
        self._begin()

    def replay(self, text: str) -> str:
        """The same file with what was printed now."""
        lines: list[str] = []
        given = text.splitlines()
        for number, line in enumerate(given):
            if _is_printed(line):
                continue
            lines.append(line)
            if line.startswith("== "):
                self._begin()
            elif line.startswith("@ "):
                self._happen(line[2:], list(_content(given[number + 1 :])))
            elif line.startswith("$ ") and _has_other_help(line):
                lines += itertools.takewhile(_is_printed, given[number + 1 :])
            elif line.startswith("$ "):
                lines += self._run(line[2:])
        return "\n".join(lines) + "\n"

    def close(self) -> None:
        if self._queue:
            self._queue.close()
        self._queue = self._worker = None

    # --- commands -----------------------------------------------------------------------------------------

    def _run(self, line: str) -> list[str]:
        self._clock.advance(1)
        words = shlex.split(line)
        stdin = None
        if words[-2:-1] == ["<"]:
            stdin = Path(words[-1]).read_text()
            words = words[:-2]
        assert words[0] == "queuectl", line
        return shown(Cli()(*words[1:], stdin=stdin), self._names())

    def _names(self) -> dict[str, str]:
        names = {
            os.environ["QUEUECTL_HOME"]: "HOME",
            os.getcwd(): "DIRECTORY",
            str(self._directory): "ROOT",
            sys.executable: "PYTHON",
        }
        if self._worker:
            names[self._worker.worker.id] = "WORKER"
        return names

    # --- what happens between them ------------------------------------------------------------------------

    def _begin(self) -> None:
        self.close()
        self._homes += 1
        place = self._directory / str(self._homes)
        (place / "files").mkdir(parents=True)
        self._patch.setenv("QUEUECTL_HOME", str(place / "home"))
        for name in ("QUEUECTL_JOB_ID", "QUEUECTL_ATTEMPT_TOKEN"):
            self._patch.delenv(name, raising=False)
        self._patch.chdir(place / "files")

    def _happen(self, line: str, content: list[str]) -> None:
        step, *words = shlex.split(line)
        if step == "file":
            (name,) = words
            Path(name).write_text("".join(f"{text}\n" for text in content))
        else:
            self.STEPS[step](self, *words)

    @property
    def queue(self) -> Queue:
        if self._queue is None:
            self._queue = Queue.open()
        return self._queue

    @property
    def worker(self) -> FakeWorker:
        if self._worker is None:
            self._worker = FakeWorker(self.queue)
        return self._worker

    def _pass(self, duration: str) -> None:
        self._clock.advance(parse_duration(duration) / 1000)

    def _complete(self, id: str, output: str = "") -> None:
        self.worker.complete(id, out(f"{output}\n".encode()) if output else None)

    def _fail(self, id: str, error: str = "exit code 1", output: str = "") -> None:
        self.worker.fail(id, error=error, output=err(f"{output}\n".encode()) if output else None)

    def _kill(self, id: str, error: str = "exit code 1") -> None:
        self.worker.kill(id, error=error)

    def _inside(self, id: str) -> None:
        self._inside_of = job = self.worker.claim(id)
        self._patch.setenv("QUEUECTL_JOB_ID", job.id)
        self._patch.setenv("QUEUECTL_ATTEMPT_TOKEN", job.token)

    STEPS: ClassVar[dict[str, Callable[..., object]]] = {
        "jobs-in-every-state": lambda self: self.worker.add_jobs_in_every_state(),
        "worker": lambda self: self.worker,  # one is there, and does nothing
        "worker-leaves": lambda self: self.worker.leave(),
        "claim": lambda self, id: self.worker.claim(id),
        "complete": _complete,  # ID [what it printed]
        "fail": _fail,  # ID [error [what it printed on stderr]]
        "kill": _kill,  # ID [error]: it fails until it is dead
        "inside": _inside,  # ID: the next commands are run by the command of this job,
        "ends": lambda self: self.worker.end(self._inside_of, SUCCEEDED, exit_code=0),  # which ends
        "pass": _pass,  # a duration: so much time passes
    }


def _is_printed(line: str) -> bool:
    return line.startswith(("|", "!", "exit "))


def _has_other_help(line: str) -> bool:
    """Since 3.13 Python names the argument of an option once, and no more after each of its spellings."""
    return line.endswith(" --help") and sys.version_info >= (3, 13)


def _content(lines: list[str]) -> Iterator[str]:
    for line in lines:
        if not line.startswith("<"):
            return
        yield line[2:]


class Entries:
    """A golden file of commands that have nothing to do with each other, each under a title of its own."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lines: dict[str, list[str]] = {}
        if not REWRITE:
            for entry in re.split("^== ", file.read_text(), flags=re.MULTILINE)[1:]:
                title, *lines = entry.strip("\n").split("\n")
                self._lines[title] = lines

    @property
    def titles(self) -> list[str]:
        return list(self._lines)

    def check(self, title: str, words: Sequence[str], result: Result) -> None:
        lines = [f"$ {_command(words)}", *shown(result, {})]
        if REWRITE:
            self._lines[title] = lines
        else:
            assert lines == self._lines[title], "if it is meant so: make golden, and read the difference"

    def save(self) -> None:
        if REWRITE:
            entries = ("\n".join((f"== {title}", *lines, "")) for title, lines in self._lines.items())
            self._file.write_text("\n".join(entries))


def title(text: str) -> str:
    """In one line of plain characters, and not too long."""
    return ascii(text)[1:-1][:100]


def _command(words: Sequence[str]) -> str:
    """As it would be typed; what is very long or no text is only hinted at."""
    line = shlex.join(("queuectl", *words))
    shortened = re.sub(r"(.{1,20}?)\1{20,}", r"\1…", line)
    return ascii(shortened)[1:-1] if not shortened.isprintable() else shortened

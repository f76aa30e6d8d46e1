"""Every example runs as it is, in seconds, and has done what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.home import path_with_queuectl

from queuectl import Queue

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


class Example:
    """Where an example runs; what it made stays to be looked at."""

    def __init__(self, directory: Path) -> None:
        self.work = directory / "work"
        self.work.mkdir()
        kept = {name: value for name, value in os.environ.items() if not name.startswith("QUEUECTL_")}
        path = path_with_queuectl(directory)
        self.environment = {**kept, "PATH": path, "PYTHON": sys.executable, "NO_COLOR": "1"}

    def run(self, name: str) -> str:
        done = subprocess.run(
            ["sh", str(EXAMPLES / name / "run.sh"), str(self.work)],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=100,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    def queue(self) -> Queue:
        return Queue.open(str(self.work / "home" / "queue.db"))

    def states(self) -> dict[str, str]:
        with self.queue() as queue:
            return {job.id: job.state for job in queue.list()}

    def read(self, name: str) -> str:
        return (self.work / name).read_text()


@pytest.fixture
def example(tmp_path: Path) -> Iterator[Example]:
    it = Example(tmp_path)
    yield it
    with it.queue() as queue:
        assert queue.store.workers() == []  # none was left behind


def test_every_example_is_listed_and_tested() -> None:
    # Of the container only what its files say can be run here: tests/docs/test_operations.py.
    folders = {path.name for path in EXAMPLES.iterdir() if path.is_dir()} - {"container"}
    listed = set(re.findall(r"\]\(([a-z-]+)/run\.sh\)", (EXAMPLES / "README.md").read_text()))
    tested = set(re.findall(r'example\.run\("([a-z-]+)"\)', Path(__file__).read_text()))
    assert folders == listed == tested
    for name in folders:
        assert (EXAMPLES / name / "run.sh").read_text().startswith("# ")  # what it is for


def test_nightly_backup(example: Example) -> None:
    said = example.run("nightly-backup")
    (archive,) = (example.work / "backups").iterdir()
    with tarfile.open(archive) as saved:
        assert "./notes.txt" in saved.getnames()
    assert f"saved data as backups/{archive.name}" in said
    assert "Europe/Berlin" in said


@pytest.mark.long
def test_gpu_box(example: Example) -> None:
    example.run("gpu-box")
    assert set(example.states().values()) == {"completed"}  # a GPU used by two would have failed
    used = {example.read(f"train-{run}.log").split()[-1] for run in (1, 2, 3, 4)}
    assert used <= {"0", "1"}
    assert example.read("train-big.log") == "train-big on GPU 0,1\n"


def test_ci_pipeline(example: Example) -> None:
    said = example.run("ci-pipeline")
    assert set(example.states().values()) == {"completed"}
    trace = example.read("trace").split()
    assert trace[0] == "build"
    assert trace[-2:] == ["test-slow", "deploy"]
    assert "Job deploy is " in said


@pytest.mark.long
def test_web_scraping(example: Example) -> None:
    said = example.run("web-scraping")
    assert sorted(re.findall(r"Page (\d)", said)) == list("12345678")
    times = sorted(float(line.split()[0]) for line in example.read("requests").splitlines())
    assert len(times) == 9  # one page was asked for twice
    assert times[-1] - times[0] >= 0.7  # eight at ten a second
    pages = [line.split()[1] for line in example.read("requests").splitlines()]
    assert pages.count("/3") == 2


@pytest.mark.long
def test_parameter_sweep(example: Example) -> None:
    said = example.run("parameter-sweep")
    assert "some of them failed: 3\n" in said
    results = example.read("results").splitlines()
    assert len(results) == len(set(results)) == 9  # each once, though it was called twice
    assert said.splitlines()[-1].startswith("98 ")


def test_python_client(example: Example) -> None:
    assert example.run("python-client").splitlines()[-1] == "3 jobs, 11 words"


@pytest.mark.long
def test_batch(example: Example) -> None:
    said = example.run("batch")
    assert "5000 files\n" in said
    assert "Completed: 5000" in said.replace(",", "")
    assert example.read("out/4711") == "4711\n"


def test_dead_letters(example: Example) -> None:
    said = example.run("dead-letters")
    assert sorted(example.read("sent").split()) == ["1", "2", "3"]
    assert example.states() == {f"invoice-{number}": "completed" for number in (1, 2, 3)}
    assert "no such customer" in said
    assert "no template" in said


@pytest.mark.long
def test_idempotent_script(example: Example) -> None:
    assert example.run("idempotent-script").splitlines()[-1] == "payments made: 1"
    assert example.read("receipt-pay-4711") == "receipt for 100\n"
    with example.queue() as queue:
        outcomes = [attempt.outcome for attempt in queue.attempts(queue.get("pay-4711"))]
    assert outcomes == ["failed", "succeeded"]

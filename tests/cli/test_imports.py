"""Start-up: `enqueue` loads what it needs and nothing else, for each module costs every script its time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.fake_worker import FakeWorker

pytestmark = pytest.mark.process

# What Python has loaded by itself does not count.
SCRIPT = """
import sys
before = set(sys.modules)
from queuectl.cli.main import main
code = main(sys.argv[1:])
loaded = sorted(set(sys.modules) - before)
import json
print(json.dumps(loaded), file=sys.stderr)
sys.exit(code)
"""

LIST = Path(__file__).with_name("enqueue_imports.txt")
ALLOWED = {line for line in LIST.read_text().splitlines() if line and not line.startswith("#")}

# Each of these takes a millisecond or much more; named so that a failure says what went wrong.
SLOW = {
    *("argcomplete", "asyncio", "concurrent", "contextlib", "dataclasses", "datetime", "difflib"),
    *("inspect", "logging", "multiprocessing", "pathlib", "psutil", "random", "rich", "rich_argparse"),
    *("selectors", "shutil", "socket", "sqlite3", "subprocess", "tempfile", "threading", "tomllib"),
    *("traceback", "typing", "unittest", "urllib", "uuid", "zipfile", "zoneinfo"),
}


def loaded_by(*words: str) -> set[str]:
    environment = {name: value for name, value in os.environ.items() if name != "QUEUECTL_PORTABLE"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *words],
        capture_output=True,
        env=environment,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr.splitlines()[-1]))


FORMS = {
    "a shell line": (("echo hi",), set()),
    "flags": (("--id", "job1", "--command", "echo hi", "--priority", "5", "--timeout", "10m"), set()),
    "json": (('{"id":"job1","command":"echo hi","max_retries":3,"tags":["a"]}',), set()),
    "quiet": (("--quiet", "echo hi"), set()),
    "printed as json": (("--json", "echo hi"), {"queuectl.store.reads"}),
    "words": (("ls", "-l"), {"shlex"}),
}


@pytest.mark.parametrize(("words", "more"), FORMS.values(), ids=FORMS)
def test_enqueue_loads_only_what_it_needs(home_dir: Path, words: tuple[str, ...], more: set[str]) -> None:
    loaded = loaded_by("enqueue", *words)

    assert loaded & SLOW == set()
    assert loaded - ALLOWED - more == set()


def test_words_without_an_option_need_no_parser(home_dir: Path) -> None:
    assert "argparse" not in loaded_by("enqueue", "echo hi")


def test_without_workers_nobody_asks_the_system_about_processes(home_dir: Path) -> None:
    loaded_by("enqueue", "the first looks at the file system")
    assert not [name for name in loaded_by("enqueue", "echo hi") if name.startswith("queuectl.system")]


def test_a_living_worker_makes_no_difference(fake_worker: FakeWorker) -> None:
    assert loaded_by("enqueue", "echo hi") - ALLOWED == set()


def test_a_file_adds_its_reader_and_no_more(home_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "jobs").write_text('{"command":"true"}\n' * 3)

    loaded = loaded_by("enqueue", "--file", str(tmp_path / "jobs"))

    assert loaded - ALLOWED == {"queuectl.cli.jobfile", "encodings.utf_8_sig"}


def test_very_many_jobs_add_how_they_are_stored(home_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "jobs").write_text("true\n" * 100)

    loaded = loaded_by("enqueue", "--lines", "--file", str(tmp_path / "jobs"))

    assert loaded - ALLOWED == {"queuectl.cli.jobfile", "encodings.utf_8_sig", "queuectl.store.sqlite_bulk"}


def test_the_list_names_nothing_slow() -> None:
    assert not ALLOWED & SLOW

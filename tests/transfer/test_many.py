"""Large queues: in sensible time, in little memory, with a bar for who waits."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.engines import engines
from tests.transfer.places import Places, rows
from tests.transfer.rows import fill

pytestmark = pytest.mark.long

JOBS = 20_000
# Many times what it takes, for a machine that does other things as well.
LONGEST = 60.0
# KiB by which a queue of 20,000 jobs may need more memory than one of 1,000; its rows alone are 12 MB.
MOST_MEMORY = 12_000

_MEASURED = """
import resource, sys
from queuectl.cli.main import main
code = main(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
sys.exit(code)
"""


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> str:
    url = str(tmp_path_factory.mktemp("few") / "few.db")
    fill(url, 1_000)
    return url


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> str:
    url = str(tmp_path_factory.mktemp("many") / "many.db")
    fill(url, JOBS)
    return url


def memory(*words: str) -> int:
    """What a command needed, in KiB; it must not take too long."""
    begin = time.monotonic()
    done = subprocess.run([sys.executable, "-c", _MEASURED, *words], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - begin < LONGEST
    return int(done.stderr.split()[-1])


@pytest.mark.parametrize("engine", engines(long=["mysql"]))
def test_twenty_thousand_jobs(engine: str, few: str, many: str, place: Places) -> None:
    base = memory("--db", few, "copy", "--to", place(engine))
    needed = memory("--db", many, "copy", "--to", there := place(engine))
    assert rows(there) == {"jobs": JOBS, "attempts": JOBS // 2, "config": 1}
    assert needed - base < MOST_MEMORY


@pytest.mark.parametrize("engine", engines(long=["mysql"]))
def test_twenty_thousand_jobs_through_a_file(
    engine: str, few: str, many: str, place: Places, tmp_path: Path
) -> None:
    small, large = str(tmp_path / "small"), str(tmp_path / "large")
    base = memory("--db", few, "export", small)
    assert memory("--db", many, "export", large) - base < MOST_MEMORY
    base = memory("--db", place(engine), "import", small)
    assert memory("--db", there := place(engine), "import", large) - base < MOST_MEMORY
    assert rows(there) == {"jobs": JOBS, "attempts": JOBS // 2, "config": 1}


def test_a_bar_on_a_terminal(many: str, tmp_path: Path) -> None:
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "queuectl", "--db", many, "copy", "--to", str(tmp_path / "there.db")]
    process = subprocess.Popen(command, stderr=slave, stdout=subprocess.PIPE)
    os.close(slave)
    seen = b""
    while piece := _read(master):
        seen += piece
    os.close(master)
    out, _ = process.communicate()
    assert process.returncode == 0
    assert out.decode().startswith("✓ 20,000 jobs, 10,000 attempts, 1 setting copied and verified")
    assert b"#" in seen
    assert b" copied (" in seen
    assert b" verified (" in seen


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, 65536)
    except OSError:  # so Linux says that nobody writes to a terminal any more
        return b""

"""The log of background workers: many processes, one file that is begun anew when it is long."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from queuectl.testing import wait_until
from tests.support.programs import require
from tests.support.worker_home import WorkerHome

OPERATIONS = Path(__file__).parents[2] / "docs" / "operations.md"
# Writes numbered lines of different lengths, so that a torn one could be told.
WRITER = """
import sys
from queuectl.worker.logfile import SharedLog
path, most, keep, name, lines = sys.argv[1:]
log = SharedLog(path, int(most), int(keep))
for number in range(int(lines)):
    log.write(f"{name} {number} {'x' * (number % 60)}.\\n".encode())
"""


def writer(path: Path, name: str, *, most: int, keep: int, lines: int) -> subprocess.Popen[bytes]:
    with open(path, "ab") as file:
        words = [str(path), str(most), str(keep), name, str(lines)]
        return subprocess.Popen([sys.executable, "-c", WRITER, *words], stdout=file, stderr=file)


def expected(names: str, lines: int) -> list[str]:
    return sorted(f"{name} {number} {'x' * (number % 60)}." for name in names for number in range(lines))


def written(path: Path) -> list[Path]:
    return [file for file in path.parent.glob("workers.log*") if file.suffix != ".lock"]


def test_no_line_of_several_writers_is_lost_or_torn(tmp_path: Path) -> None:
    path = tmp_path / "workers.log"
    writers = [writer(path, name, most=6_000, keep=1_000, lines=1_500) for name in "abcd"]
    assert [process.wait(60) for process in writers] == [0] * 4
    files = written(path)
    assert len(files) > 20
    assert sorted("".join(file.read_text() for file in files).splitlines()) == expected("abcd", 1_500)
    assert path.stat().st_mode & 0o777 == 0o600


def test_three_old_files_are_kept_and_none_grows_far_beyond_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "workers.log"
    writers = [writer(path, name, most=2_000, keep=3, lines=400) for name in "ab"]
    assert [process.wait(60) for process in writers] == [0] * 2
    assert sorted(file.name for file in written(path)) == [
        "workers.log",
        *(f"workers.log.{n}" for n in (1, 2, 3)),
    ]
    # Each writer may be one line late.
    assert max(file.stat().st_size for file in written(path)) <= 2_000 + 2 * 80


def test_background_workers_begin_a_new_log_by_themselves(home: WorkerHome) -> None:
    home.config(worker_log_max="2000")
    home.start(count=2)
    ids = [home.enqueue("false", max_retries=0) for _ in range(60)]
    home.ended(*ids)
    logs = home.path / "logs"
    wait_until(lambda: sum(f.read_text().count(" moved to ") for f in written(logs / "workers.log")) >= 40)
    assert {file.name for file in written(logs / "workers.log")} >= {
        "workers.log",
        "workers.log.1",
        "workers.log.2",
    }
    assert (logs / "workers.log").stat().st_size < 2_500


def test_workers_follow_when_logrotate_moves_their_log_away(home: WorkerHome) -> None:
    logrotate = require("logrotate")
    home.start(count=2)
    home.ended(*[home.enqueue("false", max_retries=0) for _ in range(6)])
    log = home.path / "logs" / "workers.log"
    before = log.read_text()
    recipe = home.path.parent / "logrotate.conf"
    (shown,) = re.findall(r"```text\n(\S+workers\.log \{.*?)```", OPERATIONS.read_text(), re.DOTALL)
    recipe.write_text(re.sub(r"^ *su .*\n", "", re.sub(r"^\S+", str(log), shown), flags=re.MULTILINE))
    recipe.chmod(0o600)
    rotate = [logrotate, "--force", "--state", str(home.path.parent / "state"), str(recipe)]
    subprocess.run(rotate, check=True, capture_output=True)
    assert (log.parent / "workers.log.1").read_text() == before
    assert not log.exists()
    home.ended(home.enqueue("false", max_retries=0, id="later"))
    wait_until(lambda: log.exists() and "Job later moved to" in log.read_text(), what="the new log")
    assert log.stat().st_mode & 0o777 == 0o600

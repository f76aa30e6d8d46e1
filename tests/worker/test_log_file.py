"""A log on disk when the disk does not play along."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from queuectl.core.chunks import STDOUT, pack
from queuectl.logfiles import LogReader
from queuectl.worker.output import LogFile

FULL_DISK = """
import json, resource, signal, sys
from queuectl.core.chunks import STDOUT, pack
from queuectl.worker.output import LogFile
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2_500, 1_000_000))
log = LogFile(sys.argv[1], "01/1-1.log", 1_000_000)
for _ in range(4):
    log.write(pack(STDOUT, 0, b"x" * 991))  # 1000 bytes each: the third is torn
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
log.write(pack(STDOUT, 0, b"later"))
print(json.dumps(log.finish()))
"""


def text(directory: Path, name: str) -> bytes:
    return b"".join(chunk.data for chunk in LogReader(str(directory), name).read())


def test_a_full_disk_tears_no_piece_and_what_is_lost_is_counted(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path)], capture_output=True, check=True, text=True
    )
    assert json.loads(done.stdout) == 2 * 991
    assert text(tmp_path, "01/1-1.log") == b"x" * 2 * 991 + b"later"


def test_what_somebody_deleted_meanwhile_is_no_trouble(tmp_path: Path) -> None:
    log = LogFile(str(tmp_path), "01/1-1.log", 4_000)
    for number in range(20):
        log.write(pack(STDOUT, 0, b"%04d" % number * 100))
        for file in (tmp_path / "01").glob("*"):
            file.unlink()
    assert log.finish() >= 0
    log = LogFile(str(tmp_path), "01/2-1.log", 4_000)
    log.write(pack(STDOUT, 0, b"x"))
    (tmp_path / "01" / "2-1.log").unlink()
    log.discard()


def test_head_and_tail_stay_and_the_middle_goes(tmp_path: Path) -> None:
    log = LogFile(str(tmp_path), "01/1-1.log", 4_000)
    pieces = [b"%04d" % number * 20 for number in range(200)]
    for piece in pieces:
        log.write(pack(STDOUT, 0, piece))
    dropped = log.finish()
    kept = text(tmp_path, "01/1-1.log")
    assert kept.startswith(b"".join(pieces[:15]))
    assert kept.endswith(b"".join(pieces[-10:]))
    assert dropped == 200 * 80 - len(kept)
    assert sum(file.stat().st_size for file in (tmp_path / "01").iterdir()) <= 4_000

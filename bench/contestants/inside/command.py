"""The job of every queue written in Python. Runs in their environments, so it needs nothing but Python."""

from __future__ import annotations

import os
import subprocess
import time


def run(command: str) -> None:
    """When it ended well is noted in a file that all workers share: one short line, in one write."""
    subprocess.run(["sh", "-c", command], capture_output=True, check=True)
    file = os.open(os.environ["BENCH_TIMES"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(file, f"{time.time():.6f}\n".encode())
    os.close(file)

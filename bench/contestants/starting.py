"""Workers and servers of contestants: started for one measurement, and certainly ended after it."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path


def last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it says nothing"


@contextmanager
def started(
    commands: list[list[str]], env: Mapping[str, str], log: Path
) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Each in a session of its own, so that its children end with it."""
    processes = []
    with log.open("wb") as file:
        try:
            for command in commands:
                processes.append(
                    subprocess.Popen(
                        command,
                        env=env,
                        stdin=subprocess.DEVNULL,
                        stdout=file,
                        stderr=file,
                        start_new_session=True,
                    )
                )
            yield processes
        finally:
            for process in processes:
                stop(process)


def stop(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # all of it has ended by itself
    process.wait()

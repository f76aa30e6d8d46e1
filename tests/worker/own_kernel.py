"""A kernel of our own to test with: user-mode Linux, a process like any other (Debian: user-mode-linux).

It has what the machine may lack: control groups of version 2 with all controllers, and a memory that may run
out. It sees our files, but cannot change them; what it writes is in memory (/mnt), and all ends with it.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

KERNEL = shutil.which("linux.uml")
ROOT = Path(__file__).parents[2]
_INIT = """#!/bin/sh
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs own /mnt
mkdir -p /dev/shm /dev/pts
mount -t tmpfs shm /dev/shm
mount -t devpts pts /dev/pts
mount -t cgroup2 none /sys/fs/cgroup
hostname own-kernel
ip link set lo up 2>/dev/null
export HOME=/mnt TMPDIR=/mnt LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 PATH={path}
cd {root}
{command}
echo "ENDED WITH $?"
echo o > /proc/sysrq-trigger
while :; do sleep 1; done
"""


def run(
    command: list[str], directory: Path, *, memory: str = "768M", timeout: float = 300
) -> tuple[int, str]:
    """Boot it, run the command there in the project's root, power off. Its exit code, and what it printed."""
    assert KERNEL is not None
    init = directory / "init"
    init.write_text(
        _INIT.format(root=shlex.quote(str(ROOT)), command=shlex.join(command), path=os.environ["PATH"])
    )
    init.chmod(0o755)
    boot = ["root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", f"init={init}"]
    console = ["quiet", "con=null", "con0=null,fd:1", f"mem={memory}"]
    done = subprocess.run(
        [KERNEL, *boot, *console, f"uml_dir={directory}"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=timeout,
        check=False,
        start_new_session=True,  # it makes processes of its own
    )
    said = done.stdout.decode(errors="replace").replace("\r", "")
    _, found, code = said.rpartition("ENDED WITH ")
    return (int(code.split()[0]) if found else -1), said


def pytest_command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rs", "--color=no", *arguments]

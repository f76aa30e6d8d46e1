"""Power failures: what was acknowledged is there when the power is back, and nobody has to mend anything.

The failure itself is `power_disk`, those at work `power_clients`, what is checked `power_cuts`, which runs as
a process with a mount namespace of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from random import SystemRandom

from proof.verdict import Part

_CUTS, _FEW = 120, 2
_LEAST = 100
_TOOLS = {"mkfs.ext4": "e2fsprogs", "losetup": "mount", "unshare": "util-linux"}
_APART = ("unshare", "--mount", "--propagation", "private")
_LONGEST = 900  # seconds


def prove(*, full: bool) -> Part:
    if reason := _why_not():
        return Part("power", left_out=[f"power failures: {reason}"])
    seed = SystemRandom().randrange(1_000_000)
    cuts = _CUTS if full else _FEW
    ended = subprocess.run(
        [*_APART, sys.executable, "-m", "proof.power_cuts", str(cuts), str(seed)],
        cwd=Path(__file__).parent.parent,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        timeout=_LONGEST,
        check=True,
    )
    part = Part.from_json(json.loads(ended.stdout))
    if full:
        part.demand("power failures, all in all", cuts, _LEAST)
    return part


def _why_not() -> str:
    """What is in the way of a loop-mounted file system."""
    if os.geteuid() != 0:
        return "only root may mount a file system"
    for tool, package in _TOOLS.items():
        if shutil.which(tool) is None:
            return f"there is no {tool} on this machine (Debian package {package})"
    trial = "mount -t tmpfs none /mnt && losetup --find"
    tried = subprocess.run([*_APART, "sh", "-c", trial], capture_output=True, text=True, check=False)
    return f"mounting is not permitted here: {tried.stderr.strip()}" if tried.returncode else ""

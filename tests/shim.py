"""`queuectl` as a program on the PATH, as if it were installed: for tests that run shells."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def path_with_queuectl(directory: Path, *options: str) -> str:
    """The PATH, but `queuectl` is found in bin/ of this directory; `options` are the interpreter's."""
    shim = directory / "bin" / "queuectl"
    shim.parent.mkdir()
    words = " ".join((f'"{sys.executable}"', *options, "-P", "-m", "queuectl"))
    shim.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    shim.chmod(0o755)
    return f"{shim.parent}{os.pathsep}{os.environ['PATH']}"

"""Builds the wheel of an earlier commit for the tests that run old workers beside new ones.

`python tools/make_old_wheel.py 43a530c 4` makes tests/migration/old/schema4/queuectl-0.1.0-py3-none-any.whl:
what the sources of that commit give, with nothing taken away. It was the last commit whose schema was the
fourth. pip needs an index for the build backend.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "tests/migration/old"


def build(commit: str, schema: str) -> Path:
    with tempfile.TemporaryDirectory() as directory:
        archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True).stdout
        with tarfile.open(fileobj=BytesIO(archive)) as sources:
            sources.extractall(directory, filter="data")
        made = Path(directory, "made")
        pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(made)]
        subprocess.run([*pip, directory], check=True)
        (wheel,) = made.glob("*.whl")
        target = TARGET / f"schema{schema}" / wheel.name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(wheel.read_bytes())
        return target


if __name__ == "__main__":
    print(build(*sys.argv[1:3]))

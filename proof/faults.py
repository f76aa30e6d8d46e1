"""The tests of faults that are too long for `make test`, all of them; and how many there were."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from proof.verdict import Part

_ROOT = Path(__file__).parent.parent
_FEW = ["tests/worker", "-k", "leases"]


def prove(*, full: bool) -> Part:
    part = Part("faults")
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "report.xml"
        chosen = ["tests"] if full else _FEW
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-m", "proof", f"--junit-xml={report}"]
        subprocess.run([*command, *chosen], cwd=_ROOT, check=False, stdin=subprocess.DEVNULL)
        suite = ElementTree.parse(report).getroot()[0]
    counted = {name: int(suite.get(name, 0)) for name in ("tests", "failures", "errors", "skipped")}
    bad = counted["failures"] + counted["errors"]
    part.row("tests of faults that take longer", f"{counted['tests'] - counted['skipped']:,} of them")
    part.row("of those, failed", str(bad), "0", good=bad == 0)
    for case in suite.iter("testcase"):
        for skipped in case.iter("skipped"):
            part.left_out.append(f"{case.get('name')}: {skipped.get('message', '')}")
    return part

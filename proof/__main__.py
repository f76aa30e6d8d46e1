"""`python -m proof`: make the faults, check, keep the figures, write docs/reliability.md.

Exit code 1 if a promise was broken, or a part could not be carried out.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import import_module

from proof import report
from proof.keeping import keep, last
from proof.verdict import Part

# In this order; the soak goes on beside all the others.
BESIDE = "soak"
ONE_BY_ONE = ("model", "recovery", "matrix", "storm", "power", "syscalls", "clocks", "fuzz", "faults")
PARTS = (*ONE_BY_ONE, BESIDE)


def main() -> int:
    given = _arguments()
    if given.report:
        return _report()
    names: Sequence[str] = given.names or ONE_BY_ONE
    began = time.monotonic()
    beside = None if given.names else _start_beside(full=not given.quick)
    parts = [_run(name, full=not given.quick) for name in names]
    good = all(part.good for part in parts)
    if beside is not None:
        print(f"waiting for {BESIDE} …", file=sys.stderr)
        good = beside.wait() == 0 and good
    print(f"{time.monotonic() - began:.0f} s, {'all good' if good else 'NOT GOOD'}", file=sys.stderr)
    if not given.quick:
        _report()
    return 0 if good else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m proof",
        description="Makes faults on purpose and checks that no job is lost.",
        epilog=f"Parts: {', '.join(PARTS)}.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these parts")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--quick", action="store_true", help="small versions; the report is left alone")
    how.add_argument("--report", action="store_true", help="only write docs/reliability.md anew")
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in PARTS]
    if unknown:
        parser.error(f"there is no part {unknown[0]!r}; choose from {', '.join(PARTS)}")
    return given


def _start_beside(*, full: bool) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "proof", BESIDE, *([] if full else ["--quick"])])


def _run(name: str, *, full: bool) -> Part:
    """Whatever happens in a part, the others are carried out."""
    print(f"proving: {name} …", file=sys.stderr)
    began = time.monotonic()
    try:
        part: Part = import_module(f"proof.{name}").prove(full=full)
    except Exception as error:
        traceback.print_exc()
        part = Part(name, failed=f"{type(error).__name__}: {error}")
    part.seconds = round(time.monotonic() - began, 1)
    part.date = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    part.full = full
    if full:
        keep(part)
    _tell(part)
    return part


def _tell(part: Part) -> None:
    for row in part.rows:
        bound = f"  ({row.bound})" if row.bound else ""
        print(f"  {'ok ' if row.good else 'BAD'} {row.what}: {row.figure}{bound}")
    for line in [*part.verdict.findings, *part.left_out, *([part.failed] if part.failed else [])]:
        print(f"  !!! {line}")
    print(f"{part.name}: {'good' if part.good else 'NOT GOOD'}, {part.seconds:.0f} s", flush=True)


def _report() -> int:
    parts = [last(name) or Part(name, failed="it has not been run") for name in PARTS]
    report.write(parts)
    print(f"wrote {report.PAGE.name}", file=sys.stderr)
    return 0 if all(part.good for part in parts) else 1


if __name__ == "__main__":
    sys.exit(main())

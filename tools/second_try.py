"""In CI, a few tests that failed are run once more, one at a time: on a busy machine, time itself fails some.

They must pass then. Which ones needed it is told in the last lines, since each is a fault to be looked for:
of the test, or of the program. Many that fail, or a run that broke off, stay a failure at once.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LAST_FAILED = ROOT / ".pytest_cache" / "v" / "cache" / "lastfailed"
MOST = 3
TESTS_FAILED = 1  # pytest's exit code; all others mean that it did not come to its end


def main(code: int) -> int:
    failed = sorted(json.loads(LAST_FAILED.read_text())) if LAST_FAILED.exists() else []
    if code != TESTS_FAILED or not 0 < len(failed) <= MOST:
        print(f"ci: pytest's exit code is {code}, {len(failed)} test(s) failed: no second try")
        return code
    print("ci: failed, and run once more:", *failed, sep="\n  ", flush=True)
    again = subprocess.run([sys.executable, "-m", "pytest", "-p", "no:xdist", *failed], cwd=ROOT, check=False)
    if again.returncode == 0:
        print("ci: PASSED ONLY AT THE SECOND TRY:", *failed, sep="\n  ")
    return again.returncode


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))

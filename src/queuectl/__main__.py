"""`python -m queuectl`: the same as the console script."""

from __future__ import annotations

import sys

from queuectl.cli.main import main

if __name__ == "__main__":
    sys.exit(main())

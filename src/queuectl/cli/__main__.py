"""`python -m queuectl.cli`: the same as `python -m queuectl`."""

from __future__ import annotations

import sys

from queuectl.cli.main import main

if __name__ == "__main__":
    sys.exit(main())

"""`python -m queuectl`: the same as the console script."""

from __future__ import annotations

from queuectl.cli.main import run

if __name__ == "__main__":
    run()

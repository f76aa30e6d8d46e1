"""`python -m queuectl.cli`: the same as `python -m queuectl`."""

from __future__ import annotations

from queuectl.cli.main import run

if __name__ == "__main__":
    run()

"""Commands in this process, on a queue of their own in one file: what they do knows nothing of engines."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli import conftest as commands

DATA = Path(__file__).parent / "data"

cli = commands.cli
cli_process = commands.cli_process
elsewhere = commands.elsewhere
home_dir = commands.home_dir
queue = commands.queue


@pytest.fixture
def store_url() -> None:
    return None

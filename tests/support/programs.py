"""Programs of others that some tests need: without one they are skipped loudly, in CI they fail."""

from __future__ import annotations

import os
import shutil

import pytest


def require(program: str) -> str:
    """Where it is."""
    found = shutil.which(program)
    if found is None:
        message = f"NOT TESTED, no {program} here. Install it: `make servers` or `apt-get install {program}`"
        if os.environ.get("CI") == "true":
            pytest.fail(message, pytrace=False)
        pytest.skip(message)
    return found

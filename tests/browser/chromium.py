"""The browser of the tests: the system's own Chromium, never a downloaded one."""

from __future__ import annotations

import os
import shutil
from typing import NoReturn

import pytest

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",  # tests often run as root, in containers
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def find() -> str:
    """Its path. Who has none is told so loudly, and in CI that is a failure."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None) or missing()


def missing() -> NoReturn:
    message = "NOT TESTED, no Chromium here. Install it: `make servers` or `apt-get install chromium`"
    if os.environ.get("CI") == "true":
        pytest.fail(message, pytrace=False)
    pytest.skip(message, allow_module_level=True)

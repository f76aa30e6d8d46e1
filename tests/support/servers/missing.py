"""What happens to a test whose server is not there: it is skipped loudly, in CI it fails."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest

NAMES = {"postgres": "PostgreSQL", "mysql": "MariaDB"}
PACKAGES = {"postgres": "postgresql", "mysql": "mariadb-server"}
VARIABLES = {"postgres": "QUEUECTL_TEST_POSTGRES", "mysql": "QUEUECTL_TEST_MYSQL"}


def missing(engine: str) -> NoReturn:
    message = (
        f"NOT TESTED, no {NAMES[engine]} here. Install it: `make servers` or"
        f" `apt-get install {PACKAGES[engine]}`; or name a server: {VARIABLES[engine]}=URL"
    )
    if os.environ.get("CI") == "true":
        pytest.fail(message, pytrace=False)
    pytest.skip(message, allow_module_level=True)

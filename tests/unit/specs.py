"""Jobs as somebody describes them, read with the defaults of these tests; values that are hard to print."""

from __future__ import annotations

from typing import Any

from tests.support.jobs import NOW

from queuectl.core.job import NewJob
from queuectl.core.spec import Defaults, job_from_fields

HUGE = 10**5_000  # more digits than Python is willing to print
SURROGATE = "caf\udce9"  # what bytes that are no UTF-8 become on a command line


def defaults(**fields: Any) -> Defaults:
    return Defaults(**({"now": NOW, "max_retries": 3, "cwd": "/here"} | fields))


def read(**fields: object) -> NewJob:
    return job_from_fields({"command": "echo hi"} | fields, defaults())

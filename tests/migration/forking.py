"""A program that forks with a store open: in the child every use must be refused, and the parent goes on."""

from __future__ import annotations

_IMPORTS = """
import os, sys
from queuectl.errors import StoreError
from queuectl.store.messages import JobFilter
"""
_FORKS = """
child = os.fork()
if child == 0:
    refused = 0
    for use in (
        lambda: store.get("a"),
        lambda: store.put_config("shell", "/bin/sh", 1),
        lambda: store.cancel(JobFilter(), 1),
        lambda: store.{last}(),
    ):
        try:
            use()
        except StoreError as error:
            refused += "after a fork" in error.message
    os._exit(refused)
_, status = os.waitpid(child, 0)
store.put_config("shell", "/bin/sh", 1)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def forks_with(opening: str, *, last: str) -> str:
    """Its text; `opening` makes `store`, `last` is the fourth use. It exits with how many were refused."""
    return _IMPORTS + opening + _FORKS.replace("{last}", last)

"""What has to happen at the end of this very process, and not of its forks."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable


def at_exit(action: Callable[[], object]) -> None:
    """Do it when this process ends; a fork that ends leaves its parent's servers and places alone."""
    owner = os.getpid()

    def act() -> None:
        if os.getpid() == owner:
            action()

    atexit.register(act)

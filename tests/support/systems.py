"""Marks for tests that run twice: on what Linux has, and with the fallbacks for other systems.

The fallbacks are: to start a command by `posix_spawn`, to wait for output by `poll`, to find and tell apart
processes by psutil. A test has such a mark if it is about one of these.
"""

from __future__ import annotations

import pytest

_SYSTEMS = ["linux", "portable"]

both_systems = pytest.mark.parametrize("home", _SYSTEMS, indirect=True)
both_systems_shared = pytest.mark.parametrize("shared_home", _SYSTEMS, indirect=True, scope="module")

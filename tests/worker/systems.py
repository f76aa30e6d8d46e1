"""Marks for tests that run twice: on what Linux has, and with the fallbacks for other systems."""

from __future__ import annotations

import pytest

both_systems = pytest.mark.parametrize("site", ["linux", "portable"], indirect=True)
both_systems_served = pytest.mark.parametrize("served", ["linux", "portable"], indirect=True, scope="module")

# run_worker opens its store with a busy timeout of ten seconds, so the loop stands still while somebody else
# holds the write lock: no timeouts, no output, no fence.
waits_for_app = pytest.mark.xfail(reason="app.run_worker gives the loop a blocking store", strict=True)

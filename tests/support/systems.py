"""Marks for tests that run twice: on what Linux has, and with the fallbacks for other systems."""

from __future__ import annotations

import pytest

both_systems = pytest.mark.parametrize("home", ["linux", "portable"], indirect=True)
both_systems_served = pytest.mark.parametrize("served", ["linux", "portable"], indirect=True, scope="module")

"""What this machine's control groups do not allow, on a kernel that we boot for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.worker import own_kernel


@pytest.mark.proof
def test_limits_hold_on_a_kernel_with_cgroups(tmp_path: Path) -> None:
    if own_kernel.KERNEL is None:
        pytest.skip("NO KERNEL OF OUR OWN TO BOOT: user-mode-linux is missing")
    tests = [
        "tests/worker/test_limits_by_cgroup.py",
        "tests/worker/test_limits.py",
        "-k",
        "cgroup or counted",
    ]
    code, said = own_kernel.run(own_kernel.pytest_command(*tests), tmp_path)
    assert code == 0, said
    assert "8 passed" in said, said
    assert "NO CGROUP" not in said, said

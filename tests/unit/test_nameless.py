"""Files without a name: with memfd and without."""

from __future__ import annotations

import os

import pytest

from queuectl.worker.nameless import nameless


@pytest.mark.parametrize("has_memfd", [True, False], ids=["memfd", "temporary file"])
def test_the_data_can_be_read_from_the_beginning(monkeypatch: pytest.MonkeyPatch, has_memfd: bool) -> None:
    if not has_memfd:
        monkeypatch.delattr(os, "memfd_create", raising=False)
    data = bytes(range(256)) * 1_000
    fd = nameless("some-data", data)
    assert not os.get_inheritable(fd)
    with open(fd, "rb") as file:
        assert file.read() == data

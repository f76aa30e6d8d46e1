"""Rows that come only once can be gone through again, also when they are many."""

from __future__ import annotations

import pytest

from queuectl.store.spool import Spool

PARTS = [(False, [("a", 1, None), ("b", 2.5, "ünï\n")]), (True, [("c", 2**62, "")])]


@pytest.mark.parametrize("in_memory", [0, 1, 100])
def test_it_gives_the_same_as_often_as_asked(in_memory: int) -> None:
    with Spool((part for part in PARTS), rows_in_memory=in_memory) as spool:
        for _ in range(2):
            assert [(skip, [tuple(row) for row in rows]) for skip, rows in spool] == PARTS
        assert spool.rows == 3

"""SECURITY.md names every attack of the catalogue once, and tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ATTACKS = 35
# Of what there is not, no test can show that it is safe: webhooks, and a network to ask about dependencies.
WITHOUT_A_TEST = {19, 33}


def test_every_attack_has_a_line_and_a_test() -> None:
    text = (ROOT / "SECURITY.md").read_text()
    rows = re.findall(r"^\| C(\d+) \|(.*)\|$", text, re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, ATTACKS + 1))
    for number, row in rows:
        named = re.findall(r"`([a-z]+/test_\w+\.py)`", row)
        assert bool(named) != (int(number) in WITHOUT_A_TEST), number
        for name in named:
            assert (ROOT / "tests" / name).is_file(), name

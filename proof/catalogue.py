"""The catalogue of faults and attacks: what goes wrong elsewhere, and what shows that it does not here."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).parent / "catalogue.toml"
FAULTS, ATTACKS = 70, 35
NUMBERS = [f"B{number}" for number in range(1, FAULTS + 1)] + [
    f"C{number}" for number in range(1, ATTACKS + 1)
]


@dataclass(frozen=True)
class Entry:
    """One of them."""

    number: str
    name: str
    shown: tuple[str, ...]  # `tests/…::test_…`, or `proof.NAME`
    why_not: str  # if nothing shows it


def entries() -> list[Entry]:
    """In the order of the file."""
    with FILE.open("rb") as file:
        kept = tomllib.load(file)
    return [
        Entry(number, each["name"], tuple(each.get("shown", ())), each.get("not", ""))
        for number, each in kept.items()
    ]

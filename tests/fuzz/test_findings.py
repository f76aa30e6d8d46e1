"""What fuzzing has found once, and what must never come back."""

from __future__ import annotations

import pytest

from queuectl.address import Address
from queuectl.core import zones
from queuectl.errors import InvalidInput
from tests.fuzz.targets import all_targets

# Target -> inputs that were a crash, a broken promise or a hang.
FOUND: dict[str, list[bytes]] = {
    "address": [b"postgres://\x80", b"mysql://\xff@host/database"],
}


@pytest.mark.parametrize(("name", "data"), [(name, data) for name in FOUND for data in FOUND[name]])
def test_it_is_mended(name: str, data: bytes) -> None:
    all_targets()[name](data)


def test_an_address_that_is_no_text_is_refused() -> None:
    """A byte of the command line that is no UTF-8 was an internal error."""
    with pytest.raises(InvalidInput, match="not valid UTF-8"):
        Address("postgresql://host/\udc80")


def test_the_names_of_all_zones_are_looked_up_once() -> None:
    """Each mistake in a zone opened some 600 files, for a hint."""
    for number in range(50):
        with pytest.raises(InvalidInput, match="not known"):
            zones.find_zone(f"Europe/Nowhere{number}")
    assert zones._known.cache_info().misses <= 1

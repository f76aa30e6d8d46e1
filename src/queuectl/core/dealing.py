"""How a worker that serves several queues divides its claims: in the order of the list, or by weight.

Which jobs a queue has is left to the store; chance comes in as `turn`.
"""

from __future__ import annotations

import re

from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_WEIGHT = 1_000
_WEIGHT_DIGITS = 9
_NUMBER = r"[-+]?[0-9]+(\.[0-9]*)?"


def shares(limit: int, weights: Sequence[int] | None, turn: float, *, queues: int = 1) -> list[int]:
    """How many jobs each queue may give at most, before what is left over is filled up in their order.

    No weights: strict order, each of the `queues` may give all. Else the shares sum up to `limit`, none is
    further than one job from its exact part, and over many turns, evenly from [0, 1), the average is exact.
    So one job at a time is dealt rightly too.
    """
    if weights is None:
        return [limit] * queues
    total = sum(weights)
    # Whole numbers: with fractions the last border could be rounded over the limit.
    offset = min(int(turn * total), total - 1)
    dealt, reached, before = [], 0, 0
    for weight in weights:
        reached += weight
        border = (limit * reached + offset) // total
        dealt.append(border - before)
        before = border
    return dealt


def parse_queues(text: str) -> tuple[tuple[str, ...], tuple[int, ...] | None]:
    """The queues of `a,b` in their order, or of `a=3,b=1` with their weights.

    Where one has a weight, the others weigh 1. A queue whose name ends in `=3` is written `name=3=1`.
    """
    from queuectl.core.fields import check_queue

    found: dict[str, int] = {}
    weighted = False
    for word in text.split(","):
        name, weight = _split(word.strip())
        check_queue(name)
        weighted = weighted or weight is not None
        if name in found and weighted:
            raise InvalidInput(f"queue {name} is named twice", "give each queue one weight, like a=3,b=1")
        found[name] = 1 if weight is None else _weight(name, weight)
    return tuple(found), tuple(found.values()) if weighted else None


def spell_queues(queues: Sequence[str], weights: Sequence[int] | None) -> str:
    """The same as text; reads back the same."""
    if weights is None:
        return ",".join(queues)
    return ",".join(f"{name}={weight}" for name, weight in zip(queues, weights, strict=True))


def queue_names(text: str) -> list[str]:
    """Of such a text, only the names."""
    return [_split(word)[0] for word in text.split(",")]


def _split(word: str) -> tuple[str, str | None]:
    """A queue's name, and its weight if one is written."""
    name, equals, weight = word.rpartition("=")
    # Without a name before it, or with no number after it, the sign is part of the name.
    if not equals or not name or not re.fullmatch(_NUMBER, weight):
        return word, None
    return name, weight


def _weight(name: str, text: str) -> int:
    weight = int(text) if text.isdigit() and len(text) <= _WEIGHT_DIGITS else 0
    if not 1 <= weight <= MAX_WEIGHT:
        raise InvalidInput(
            f"the weight {text[:40]} of queue {name} is not a whole number from 1 to {MAX_WEIGHT:,}",
            "it is a share, as in a=3,b=1; a queue that shall get nothing is left out",
        )
    return weight

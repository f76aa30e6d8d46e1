"""The pieces of resources that workers have: divided among processes, written down, told to a command.

How they are counted and parsed is in `amounts`; who holds which one now is left to the worker.
"""

from __future__ import annotations

from queuectl.core.amounts import parse_provides
from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    Pieces = dict[str, list[str]]  # the ids of each resource, in order

PREFIX = "QUEUECTL_RESOURCE_"
_LONGEST_TEXT = 16_000  # fits in the store of every engine, and on a command line

# What a command finds its pieces by without knowing of us. AMD's runtime reads the same variable.
_WELL_KNOWN = {"gpu": "CUDA_VISIBLE_DEVICES"}


def deal(pieces: Pieces, count: int) -> list[Pieces]:
    """Each piece to one of `count` workers: neighbours together, the first workers have the larger parts."""
    dealt: list[Pieces] = [{} for _ in range(count)]
    for name, ids in pieces.items():
        part, rest = divmod(len(ids), count)
        begin = 0
        for number, mine in enumerate(dealt):
            end = begin + part + (number < rest)
            if end > begin:
                mine[name] = ids[begin:end]
            begin = end
    return dealt


def spell(pieces: Pieces) -> str:
    """`gpu=2,license=ids:3+4`: reads back the same; empty if there is nothing."""
    text = ",".join(f"{name}={_spelled(ids)}" for name, ids in sorted(pieces.items()) if ids)
    if len(text) > _LONGEST_TEXT:
        raise InvalidInput(
            "provides: more pieces than a worker can list", "give fewer, or divide them among more workers"
        )
    return text


def read(text: str | None) -> Pieces:
    """What `spell` wrote."""
    return parse_provides(text) if text else {}


def variables(taken: Pieces) -> dict[str, str]:
    """What the command that got these pieces is told in its environment."""
    told = {}
    for name, ids in taken.items():
        told[PREFIX + name.upper().replace("-", "_")] = ",".join(ids)
        if name in _WELL_KNOWN:
            told[_WELL_KNOWN[name]] = ",".join(ids)
    return told


def common(mine: Pieces, theirs: Pieces) -> tuple[str, str] | None:
    """The first piece that is among both: its resource and its id."""
    for name, ids in mine.items():
        others = set(theirs.get(name, ()))
        for id in ids:
            if id in others:
                return name, id
    return None


def _spelled(ids: list[str]) -> str:
    if ids == [str(number) for number in range(len(ids))]:
        return str(len(ids))
    return "ids:" + "+".join(ids)

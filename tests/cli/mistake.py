"""A row of the tables of bad input: what is typed, how it is refused. golden/mistakes.txt has the words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

INVALID, NOT_FOUND, REFUSED = 2, 1, 4


@dataclass(frozen=True)
class Mistake:
    """One mistake. The store beside it holds a job in every state (`FakeWorker.add_jobs_in_every_state`)."""

    name: str
    words: tuple[str, ...]
    code: int = INVALID
    kind: str = "invalid_input"
    files: Mapping[str, str | bytes] = field(default_factory=dict)
    # Found out before the store is needed, so none is made for it.
    early: bool = True


def used(*words: str, early: bool = True) -> Mistake:
    return Mistake(f"usage: {' '.join(words)}", words, early=early)


def missing(*words: str) -> Mistake:
    return Mistake(f"not there: {' '.join(words)}", words, code=NOT_FOUND, kind="not_found", early=False)


def refused(*words: str) -> Mistake:
    return Mistake(f"refused: {' '.join(words)}", words, code=REFUSED, kind="refused", early=False)

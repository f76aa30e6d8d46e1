"""A row of the tables of bad input: what was typed, and what must be answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

INVALID, NOT_FOUND, REFUSED = 2, 1, 4


@dataclass(frozen=True)
class Mistake:
    """One mistake. The store beside it holds a job in every state (`FakeWorker.add_jobs_in_every_state`)."""

    name: str
    words: tuple[str, ...]
    says: str
    hint: str = ""
    code: int = INVALID
    kind: str = "invalid_input"
    files: Mapping[str, str | bytes] = field(default_factory=dict)
    # Found out before the store is needed, so none is made for it.
    early: bool = True


def used(says: str, *words: str, hint: str = "--help", early: bool = True) -> Mistake:
    return Mistake(f"usage: {' '.join(words)[:50]}", words, says, hint, early=early)


def missing(what: str, *words: str, hint: str) -> Mistake:
    return Mistake(
        f"no such {what}: {' '.join(words)}",
        words,
        f"there is no {what} 'nosuch'",
        hint,
        code=NOT_FOUND,
        kind="not_found",
        early=False,
    )


def refused(says: str, *words: str, hint: str = "") -> Mistake:
    return Mistake(
        f"refused: {' '.join(words)}", words, says, hint, code=REFUSED, kind="refused", early=False
    )

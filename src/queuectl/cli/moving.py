"""What `copy`, `export` and `import` have in common: the bar, and the words for what was moved."""

from __future__ import annotations

import sys

from queuectl.cli.output import can_redraw, plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.cli.progress import Counter
    from queuectl.transfer.seals import Seals


class Bar:
    """A progress line for each thing that is done in turn; nothing where nobody looks."""

    def __init__(self) -> None:
        self._shown = can_redraw(sys.stderr)
        self._phase = ""
        self._counter: Counter | None = None

    def __enter__(self) -> Bar:
        return self

    def __call__(self, phase: str, done: int, total: int) -> None:
        if not self._shown:
            return
        if self._counter is None or phase != self._phase:
            from queuectl.cli.progress import Counter

            self.__exit__()
            self._phase = phase
            self._counter = Counter(phase, lambda done: done / total if total else None)
        self._counter(done)

    def __exit__(self, *exc: object) -> None:
        if self._counter is not None:
            self._counter.__exit__(*exc)


def in_words(seals: Seals) -> str:
    return rows_in_words({name: seal.rows for name, seal in seals.items()})


def rows_in_words(rows_of: dict[str, int]) -> str:
    """`3 jobs, 5 attempts, 1 setting`, and what only some queues have."""
    from queuectl.core.tables import ATTEMPTS, CONFIG, JOBS, TABLES

    counts = [(table, rows_of[table.name]) for table in TABLES]
    return ", ".join(
        table.counted(rows) for table, rows in counts if rows or table in (JOBS, ATTEMPTS, CONFIG)
    )


def as_json(seals: Seals) -> dict[str, object]:
    return {name: seal._asdict() for name, seal in seals.items()}


def logs_note(count: int, what: str) -> str:
    return f"note: the long output of {plural(count, 'attempt')} {what}"

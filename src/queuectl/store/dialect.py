"""What differs between the engines, as values: the SQL itself is the same text for all of them.

Statements are written with `?` for their values. Each engine's connection turns that, and the two
bulk statements below, into what its driver wants.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


class Dialect:
    """The words that one engine uses for the same thing. As they stand here they are SQLite's."""

    name = "sqlite"
    # A SQLite transaction has the whole file for itself: there are no rows to lock.
    take = ""  # rows for ourselves alone; those that somebody else holds are left out
    hold = ""  # one row for ourselves alone; waits until nobody else holds it
    keep = ""  # one row against being changed; others may keep it as well
    claim_from = "jobs"
    due_from = "jobs"
    timed = "state IN ('scheduled', 'failed') AND "  # SQLite uses the index only if it sees its condition
    walk_from = "jobs NOT INDEXED"  # in the order in which they came
    kind_from = "jobs"  # those of one state and queue
    number = "+seq"  # in words by which no engine takes to a walk along all jobs
    ordered: tuple[str, ...] = ()  # states of which an index has each queue's jobs in that order
    # By state: what parts a queue's jobs as the indexes do. Pending ones without needs are in one place.
    kinds: Mapping[str, tuple[str, ...]] = {"pending": (" AND needs IS NULL", " AND needs IS NOT NULL")}
    order = "priority DESC, run_at, seq"
    claim_order = order  # the same within a queue, in the words of the index
    lower_priority = "priority < ?"  # in its words too
    queue_order: tuple[str, ...] = ("queue",)  # of pending jobs without needs
    live_key = "unique_key"  # of jobs that have not ended: the column that the index of unique keys has
    group_state = "state"  # of jobs with a group: the column that the index of groups has
    live_schedule = "schedule = ? AND finished_at IS NULL"  # jobs of a schedule that have not ended
    contains = "instr({0}, {1}) > 0"

    def these(self, column: str, numbers: Sequence[object]) -> tuple[str, tuple[object, ...]]:
        """A condition for one of these numbers, and its values."""
        return f"{column} IN ({', '.join('?' * len(numbers))})", tuple(numbers)


class Insert:
    """One kind of row to insert, many at a time."""

    __slots__ = ("columns", "key", "table", "zeros")

    def __init__(
        self, table: str, columns: tuple[str, ...], *, zeros: tuple[str, ...] = (), key: str = ""
    ) -> None:
        self.table = table
        self.columns = columns
        self.zeros = zeros  # columns that begin at 0, without a value for each row
        self.key = key  # a row whose key exists may be left out

    @property
    def names(self) -> str:
        return ", ".join(self.columns + self.zeros)

    def marks(self, mark: str = "?") -> str:
        return "(" + ", ".join([mark] * len(self.columns) + ["0"] * len(self.zeros)) + ")"


class Sum:
    """Rows that add an amount to what is stored under their key. It is the last of their values.

    `latest`: a column before it that is what the last row says.
    """

    __slots__ = ("amount", "key", "latest", "table")

    def __init__(self, table: str, *, key: str, amount: str, latest: str | None = None) -> None:
        self.table = table
        self.key = key
        self.amount = amount
        self.latest = latest

    @property
    def names(self) -> str:
        return ", ".join(name for name in (self.key, self.latest, self.amount) if name)


class Update:
    """One kind of change, for many rows: each carries new values and what must still be true of its row.

    Columns are given with their type, which a server has to be told: ("state", "text").
    """

    __slots__ = ("also", "guard", "keys", "sets", "table")

    def __init__(
        self,
        table: str,
        *,
        sets: tuple[tuple[str, str], ...],
        also: str,
        keys: tuple[tuple[str, str], ...],
        guard: tuple[str, str] | None = None,
    ) -> None:
        self.table = table
        self.sets = sets
        self.also = also  # the same for all rows
        self.keys = keys  # the first is the table's own
        self.guard = guard  # a column that must not be above the last value of each row

    @property
    def values(self) -> tuple[tuple[str, str], ...]:
        """The columns of a row of values, in their order."""
        guard = (("at_most", self.guard[1]),) if self.guard else ()
        return self.sets + self.keys + guard

    def render(self, value: Callable[[str], str]) -> tuple[str, list[str]]:
        """The assignments, and the conditions, key first; `value` says where a column's values are."""
        sets = [f"{name} = {value(name)}" for name, _ in self.sets]
        where = [f"{name} = {value(name)}" for name, _ in self.keys]
        if self.guard:
            where.append(f"{self.guard[0]} <= {value('at_most')}")
        return ", ".join([*sets, self.also]), where

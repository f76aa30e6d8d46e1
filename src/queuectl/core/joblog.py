"""The log of GNU parallel (--joblog): which commands it has run, and how each of them ended."""

from __future__ import annotations

from queuectl.core.takeover import Plan
from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Entry", "plan_of", "read"]

_COLUMNS = ("Seq", "Host", "Starttime", "JobRuntime", "Send", "Receive", "Exitval", "Signal", "Command")
_HINT = "give the file that `parallel --joblog FILE` wrote"
_HERE = ":"  # the host of what ran on the same machine


class Entry:
    """One run of one command."""

    __slots__ = ("command", "exit_code", "host", "line", "seq", "signal")

    def __init__(self, line: int, columns: list[str]) -> None:
        self.line = line
        self.seq = _number(columns, 0, line)
        self.host = columns[1]
        self.exit_code = _number(columns, 6, line)
        self.signal = _number(columns, 7, line)
        # Line breaks of a command are written as NUL, so that there is one line for each run.
        self.command = columns[8].replace("\0", "\n")

    @property
    def succeeded(self) -> bool:
        return self.exit_code == 0 and self.signal == 0


def read(lines: Iterable[str]) -> list[Entry]:
    """The last run of each command, in their order; an error names its line."""
    numbered = ((number, line.rstrip("\n")) for number, line in enumerate(lines, 1))
    head = next(numbered, (1, ""))[1]
    if tuple(head.rstrip("\r").split("\t")) != _COLUMNS:
        raise InvalidInput("line 1: this is no joblog of GNU parallel", _HINT)
    last: dict[int, Entry] = {}
    for number, line in numbered:
        if not line:
            continue
        columns = line.split("\t", len(_COLUMNS) - 1)
        if len(columns) < len(_COLUMNS):
            raise InvalidInput(f"line {number}: {len(columns)} columns instead of {len(_COLUMNS)}", _HINT)
        entry = Entry(number, columns)
        last[entry.seq] = entry  # one that was tried again has a line for each time
    return [last[seq] for seq in sorted(last)]


def plan_of(entries: Iterable[Entry], *, prefix: str, everything: bool = False) -> Plan:
    """What has not succeeded, to be run again."""
    plan = Plan()
    elsewhere = 0
    for entry in entries:
        if entry.succeeded and not everything:
            plan.leave_out("succeeded (--all takes them too)")
            continue
        elsewhere += entry.host != _HERE
        fields: dict[str, object] = {"id": f"{prefix}-{entry.seq}", "command": entry.command}
        plan.jobs.append((f"line {entry.line}", fields))
    if elsewhere:
        plan.notes.append(f"{elsewhere:,} of them ran on other hosts; now they run where the workers are")
    return plan


def _number(columns: list[str], column: int, line: int) -> int:
    text = columns[column].strip()
    if not text.lstrip("-").isdecimal() or len(text) > 18:
        raise InvalidInput(f"line {line}: {_COLUMNS[column]} is {text[:40]!r}, which is no number", _HINT)
    return int(text)

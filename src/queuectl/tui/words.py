"""The lines around the tables: head, tabs of states, keys; as much as fits into the width."""

from __future__ import annotations

from rich.cells import cell_len
from rich.text import Text

from queuectl.tui.pictures import short_number
from queuectl.tui.wanted import STATES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.tui.details import Details
    from queuectl.tui.pictures import Picture

__all__ = ["COLOURS", "HELP", "details_text", "head", "keys", "tabs", "titled"]

COLOURS = {
    "completed": "green",
    "processing": "cyan",
    "cancelling": "cyan",
    "failed": "yellow",
    "dead": "red",
    "cancelled": "dim",
    "scheduled": "blue",
    "blocked": "magenta",
}

_KEYS = (
    *(("/", "filter"), ("s", "state"), ("r", "retry"), ("c", "cancel"), ("h", "hold"), ("u", "release")),
    *(("d", "delete"), ("p", "pause"), ("l", "log"), ("n", "next page"), ("?", "help"), ("q", "quit")),
)
_DROPPED_FIRST = ("n", "u", "h", "d", "s", "p", "c", "r", "l", "/")

HELP = """\
 ↑ ↓  j k      another job        PgUp PgDn Home End
 ← →           queues, jobs       Enter on a queue: only its jobs
 n  b          next page, back    (a page has 100 jobs)
 0 … 8         all jobs, or those of one state
 s  Tab        the next state     Shift+Tab: the one before
 /             filter: text in id or command; also queue:mail
               tag:night state:dead since:1h before:2d
 Esc           clear the filter, back to the first page
 r  retry      c  cancel      d  delete
 h  hold       u  release     p  pause or resume the queue
 l             the log in full size, and back
 q             quit

 The jobs with which something happened last come first.
 In the log, lines of stderr begin with "!".
"""


def head(picture: Picture, width: int) -> Text:
    """The store on the left, cut if need be; numbers on the right."""
    right = f"{picture.workers} · {picture.rate} "
    left = Text(" queuectl top  ", style="bold", no_wrap=True)
    left.append(picture.store, style="not bold")
    left.truncate(max(width - cell_len(right) - 2, 14), overflow="ellipsis")
    gap = max(width - left.cell_len - cell_len(right), 1)
    line = Text.assemble(left, " " * gap, right, no_wrap=True)
    line.truncate(width, overflow="ellipsis")
    return line


def tabs(picture: Picture, width: int) -> Text:
    """The states with their counts; in shorter and shorter words until they fit."""
    line = Text()
    for names, digits, empty in ((10, True, True), (10, False, True), (4, True, True), (4, False, True)):
        line = _tabs(picture, names, digits=digits, empty=empty)
        if line.cell_len <= width:
            return line
    return _tabs(picture, 4, digits=False, empty=False)


def _tabs(picture: Picture, letters: int, *, digits: bool, empty: bool) -> Text:
    line = Text(" ", no_wrap=True)
    for number, state in enumerate(STATES):
        chosen = state == picture.wanted.state
        count = sum(picture.counts.values()) if state is None else picture.counts.get(state, 0)
        if not (count or chosen or empty):
            continue
        word = f"{number} " if digits else ""
        word += f"{(state or 'all')[:letters]} {short_number(count)}"
        style = COLOURS.get(state or "", "") if count else "dim"
        line.append(word, style=f"{style} bold reverse" if chosen else style)
        line.append("  " if digits or letters > 4 else " ")
    return line


def keys(width: int) -> Text:
    dropped = 0
    while True:
        gone = _DROPPED_FIRST[:dropped]
        line = Text(" ", no_wrap=True)
        for key, word in _KEYS:
            if key not in gone:
                line.append(key, style="bold")
                line.append(f" {word}  ", style="dim")
        line.rstrip()
        if line.cell_len <= width or dropped == len(_DROPPED_FIRST):
            return line
        dropped += 1


def titled(title: str, width: int) -> Text:
    line = Text(f"── {title} ", style="dim", no_wrap=True)
    line.truncate(max(width - 1, 4), overflow="ellipsis")
    line.append("─" * max(width - line.cell_len, 0))
    return line


def details_text(details: Details | None, width: int) -> Text:
    if details is None:
        return Text("\n")
    first = Text(f"── {details.facts} ", style="bold", no_wrap=True)
    first.truncate(max(width - 1, 4), overflow="ellipsis")
    first.append("─" * max(width - first.cell_len, 0), style="dim not bold")
    text = Text.assemble(first, "\n", details.verdict)
    # The verdict names the only reason there is; what would change it is worth its line.
    for reason in details.reasons:
        text.append(f"\n• {reason}", style="dim")
    return text

"""What is on the screen: puts pictures, details and notices where they belong. Keys are left to `top`."""

from __future__ import annotations

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.events import Resize
from textual.screen import Screen
from textual.widgets import Static

from queuectl.tui.lines import Lines
from queuectl.tui.pictures import QueueRow
from queuectl.tui.table import NARROW, Column, Table
from queuectl.tui.words import COLOURS, details_text, head, keys, tabs, titled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.tui.details import Details
    from queuectl.tui.pictures import Picture
    from queuectl.tui.table import Row
    from queuectl.tui.tail import Line

__all__ = ["Board"]

_NOTICE_SECONDS = 5.0

_QUEUES = (
    Column("QUEUE", (24, 14)),
    Column("WAIT", (6, 6), right=True),
    Column("RUN", (6, 6), right=True),
    Column("OLD", (4, 4), right=True),
    Column(""),
)
_JOBS = (
    Column("STATE", (10, 10)),
    Column("ID", (20, 36)),
    Column("QUEUE", (10, 18)),
    Column("TRY", (6, 6), right=True),
    Column("AGE", (4, 4), right=True),
    Column("COMMAND"),
)


class Board(Screen[None]):
    """Everything that it is given is harmless text; none of it is taken for markup."""

    def __init__(self) -> None:
        super().__init__()
        self.queues = Table(_QUEUES, _queue_tint, id="queues", empty="no queues")
        self.jobs = Table(_JOBS, _job_tint, id="jobs", empty="looking…")
        self.output = Lines(id="log")
        self._stripes = {
            name: Static(id=name, markup=False)
            for name in ("head", "tabs", "filter", "details", "log-title", "trouble", "keys")
        }
        self._picture: Picture | None = None
        self._details: Details | None = None
        self._page = 1
        self._notices = 0

    def compose(self) -> ComposeResult:
        stripes = self._stripes
        yield stripes["head"]
        yield stripes["tabs"]
        with Container(id="body"):
            yield self.queues
            with Vertical(id="right"):
                yield stripes["filter"]
                yield self.jobs
                yield stripes["details"]
                yield stripes["log-title"]
                yield self.output
        yield stripes["trouble"]
        yield stripes["keys"]

    def on_mount(self) -> None:
        self.jobs.focus()
        self._fit(self.app.size.width)

    def on_resize(self, event: Resize) -> None:
        self._fit(event.size.width)

    def _fit(self, width: int) -> None:
        self.set_class(width < NARROW, "-narrow")
        self.call_after_refresh(self._draw)

    # --- what is to be seen ---------------------------------------------------------------------------------

    def show_picture(self, picture: Picture, *, page: int) -> None:
        self._picture, self._page = picture, page
        filtered = picture.shown_filter or picture.wanted.state
        self.jobs.empty = "no jobs match" if filtered else "no jobs yet; try: queuectl enqueue 'echo hello'"
        self.queues.show_rows(picture.queues)
        self.jobs.show_rows(picture.jobs)
        self._draw()

    def show_details(self, details: Details | None) -> None:
        anew = details is None or self._details is None or details.key != self._details.key
        self._details = details
        self.output.show_lines([] if details is None else details.lines, anew=anew)
        self._draw()

    def show_log(self, key: str, lines: list[Line]) -> None:
        if self._details is not None and self._details.key == key:
            self.output.show_lines(lines)

    def notice(self, text: str, *, failed: bool = False) -> None:
        """For a few seconds, in the place of the keys."""
        self._notices += 1
        number = self._notices
        self._write("keys", Text(f" {text}", style="bold yellow" if failed else "bold green"))
        self.set_timer(_NOTICE_SECONDS, lambda: self._end_notice(number))

    def _end_notice(self, number: int) -> None:
        if number == self._notices:
            self._notices = 0
            self._draw()

    def show_trouble(self, text: str | None) -> None:
        self._write("trouble", Text(f" {text}" if text else "", style="bold red reverse"))
        self.set_class(text is not None, "-trouble")

    def toggle_log(self) -> None:
        self.toggle_class("-log")
        self.set_focus(self.output if self.log_is_full else self.jobs)

    def go(self, where: str) -> None:
        """In what the person looks at."""
        place = self.output if self.log_is_full else self.queues if self.in_queues else self.jobs
        place.go(where)

    @property
    def in_queues(self) -> bool:
        # Not `has_focus`, which the widget learns of later than the next key may come.
        return self.focused is self.queues

    def is_paused(self, queue: str) -> bool:
        rows = [] if self._picture is None else self._picture.queues
        return any(row.paused for row in rows if row.key == queue)

    @property
    def log_is_full(self) -> bool:
        return self.has_class("-log")

    # --- drawing --------------------------------------------------------------------------------------------

    def _write(self, stripe: str, text: Text) -> None:
        # Cut here: textual would break the line at a space, and the rest would not be seen.
        text.truncate(self.size.width, overflow="ellipsis")
        self._stripes[stripe].update(text)

    def _draw(self) -> None:
        width = self.size.width
        inner = self.output.size.width or width
        picture, details = self._picture, self._details
        if picture is not None:
            self._write("head", head(picture, width))
            self._write("tabs", tabs(picture, width))
            self._draw_filter(picture)
        self._stripes["details"].update(details_text(details, inner))
        self._write("log-title", titled("" if details is None else details.heading, inner))
        if not self._notices:
            self._write("keys", keys(width))

    def _draw_filter(self, picture: Picture) -> None:
        parts = [f"filter: {picture.shown_filter}"] if picture.shown_filter else []
        if self._page > 1 or picture.following is not None:
            parts.append(f"page {self._page}")
            parts += ["n next"] if picture.following is not None else []
            parts += ["b back"] if self._page > 1 else []
        parts += ["Esc clears"] if picture.shown_filter or self._page > 1 else []
        self._write("filter", Text(" · ".join(parts), style="italic"))
        self.set_class(bool(parts), "-filtered")


def _job_tint(row: Row) -> str:
    return COLOURS.get(row.cells[0], "")


def _queue_tint(row: Row) -> str:
    return "yellow" if isinstance(row, QueueRow) and row.paused else ""

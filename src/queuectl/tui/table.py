"""A table of rows with a cursor: only the lines on the screen are drawn, and no cell is taken for markup."""

from __future__ import annotations

from typing import Protocol

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual.events import Click, Resize
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["NARROW", "Column", "Row", "Table"]

_GAP = 2  # cells between two columns
NARROW = 100  # a screen of fewer cells has the smaller widths


class Row(Protocol):
    key: str

    @property
    def cells(self) -> Sequence[str]: ...


class Column:
    """At most so wide, on a narrow screen and on a wide one; 0: as wide as there is room."""

    __slots__ = ("most", "right", "title")

    def __init__(self, title: str, most: tuple[int, int] = (0, 0), *, right: bool = False) -> None:
        self.title = title
        self.most = most
        self.right = right


class Table(ScrollView, can_focus=True):
    """Cells are harmless text already; here they are only cut and coloured."""

    class Chosen(Message):
        """The cursor is on another row, or on none."""

        def __init__(self, table: Table, key: str | None) -> None:
            super().__init__()
            self.table = table
            self.key = key

        @property
        def control(self) -> Table:
            return self.table

    def __init__(self, columns: Sequence[Column], tint: Callable[[Row], str], *, id: str, empty: str) -> None:
        super().__init__(id=id)
        self._columns = columns
        self._tint = tint  # the colour of a row's first cell
        self._rows: Sequence[Row] = ()
        self._widths: list[int] = []
        self.cursor = 0
        self.empty = empty  # what is said if there is no row

    @property
    def chosen(self) -> Row | None:
        return self._rows[self.cursor] if self.cursor < len(self._rows) else None

    def show_rows(self, rows: Sequence[Row]) -> None:
        """The cursor stays on its row wherever that is now; if it is gone, at its place."""
        before = self.chosen
        key = None if before is None else before.key
        self._rows = rows
        place = next((number for number, row in enumerate(rows) if row.key == key), None)
        self.cursor = min(self.cursor, max(len(rows) - 1, 0)) if place is None else place
        self._measure()
        self._scroll_to_cursor()
        self.refresh()
        now = self.chosen
        if now is None or now.key != key:
            self.post_message(self.Chosen(self, None if now is None else now.key))

    def choose(self, number: int) -> None:
        number = max(0, min(number, len(self._rows) - 1))
        if number == self.cursor or not self._rows:
            return
        self.cursor = number
        self._scroll_to_cursor()
        self.refresh()
        self.post_message(self.Chosen(self, self._rows[number].key))

    def go(self, where: str) -> None:
        page = max(self.size.height - 2, 1)
        last = len(self._rows) - 1
        steps = {"up": -1, "down": 1, "page_up": -page, "page_down": page, "home": -last, "end": last}
        self.choose(self.cursor + steps[where])

    def on_click(self, event: Click) -> None:
        if event.y:  # the first line has the titles
            self.choose(event.y - 1 + round(self.scroll_offset.y))

    def on_resize(self, _: Resize) -> None:
        self._measure()
        self._scroll_to_cursor()

    def _measure(self) -> None:
        width = self.size.width
        narrow = self.app.size.width < NARROW
        self._widths = []
        for place, column in enumerate(self._columns):
            most = column.most[0 if narrow else 1]
            needed = max((cell_len(row.cells[place]) for row in self._rows), default=0) if most else 0
            self._widths.append(max(cell_len(column.title), min(needed, most)))
        room = width - sum(self._widths) - _GAP * (len(self._widths) - 1)
        for place, column in enumerate(self._columns):
            if not column.most[0] and room > 0:
                self._widths[place] += room
        self.virtual_size = Size(width, len(self._rows) + 1)

    def _scroll_to_cursor(self) -> None:
        # The titles cover the first line of what is seen.
        self.scroll_to_region(Region(0, self.cursor, 1, 2), animate=False, force=True, x_axis=False)

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        number = y - 1 + round(self.scroll_offset.y)
        if y == 0:
            text = self._line([column.title for column in self._columns])
            text.stylize("bold dim")
        elif number < len(self._rows):
            row = self._rows[number]
            text = self._line(row.cells, tint=self._tint(row))
            if number == self.cursor:
                text.stylize("reverse" if self.has_focus else "bold")
        else:
            said = y == 1 and not self._rows
            text = Text(self.empty if said else "", style="dim", no_wrap=True)
        text.truncate(width, overflow="ellipsis", pad=True)
        strip = Strip(list(text.render(self.app.console)), width)
        return strip.apply_style(Style.null() + self.rich_style)

    def _line(self, cells: Sequence[str], *, tint: str = "") -> Text:
        line = Text(no_wrap=True)
        for place, (column, cell) in enumerate(zip(self._columns, cells, strict=True)):
            part = Text(cell, no_wrap=True, style=tint if place == 0 else "")
            width = self._widths[place] if self._widths else len(column.title)
            part.truncate(width, overflow="ellipsis")
            missing = " " * max(width - part.cell_len, 0)
            line.append(" " * _GAP if place else "")
            line.append_text(Text(missing) + part if column.right else part + Text(missing))
        return line

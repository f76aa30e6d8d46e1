"""Lines of output, the last ones first of all: follows while nobody has scrolled up."""

from __future__ import annotations

from rich.style import Style
from rich.text import Text
from textual.events import Resize
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from queuectl.core.chunks import GAP, STDERR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuectl.tui.tail import Line

__all__ = ["Lines"]

# Without colours a mark must say it.
_MARKS = {STDERR: ("! ", "red"), GAP: ("", "dim")}


class Lines(ScrollView, can_focus=True):
    """Text that is harmless already; long lines go on in the next one."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._lines: Sequence[Line] = ()
        self._wrapped: list[Text] = []

    def show_lines(self, lines: Sequence[Line], *, anew: bool = False) -> None:
        """`anew`: they are of something else, and where somebody had scrolled to does not matter."""
        if lines == self._lines and not anew:
            return
        self._lines = lines
        self._wrap(follow=anew or self._at_end)

    @property
    def _at_end(self) -> bool:
        return self.scroll_offset.y >= self.max_scroll_y

    def go(self, where: str) -> None:
        page = max(self.size.height - 1, 1)
        end = len(self._wrapped)
        steps = {"up": -1, "down": 1, "page_up": -page, "page_down": page, "home": -end, "end": end}
        self.scroll_to(y=self.scroll_offset.y + steps[where], animate=False, immediate=True, force=True)

    def on_resize(self, _: Resize) -> None:
        self._wrap(follow=True)

    def _wrap(self, *, follow: bool) -> None:
        width = max(self.size.width - 1, 1)
        self._wrapped = []
        for stream, line in self._lines:
            mark, style = _MARKS.get(stream, ("", ""))
            text = Text(mark + line, style=style)
            self._wrapped += text.wrap(self.app.console, width, overflow="fold") if line else [text]
        self.virtual_size = Size(self.size.width, len(self._wrapped))
        if follow:
            self.scroll_end(animate=False, immediate=True, force=True)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        number = y + round(self.scroll_offset.y)
        text = self._wrapped[number].copy() if number < len(self._wrapped) else Text()
        text.truncate(self.size.width, overflow="crop", pad=True)
        strip = Strip(list(text.render(self.app.console)), self.size.width)
        return strip.apply_style(Style.null() + self.rich_style)

"""What is asked of the person: yes or no, the words of a filter; and the help."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.events import Key
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from queuectl.tui.words import HELP

__all__ = ["Confirm", "FilterPrompt", "Help"]

_NO_CONTROLS = r"[^\x00-\x1f\x7f-\x9f]*"
_QUIT = Binding("ctrl+c", "app.leave_now", show=False, priority=True)


class Confirm(ModalScreen[bool]):
    """One line at the bottom; only `y` is yes."""

    BINDINGS: ClassVar[list[BindingType]] = [_QUIT]

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question  # harmless text already

    def compose(self) -> ComposeResult:
        line = Text(f" {self._question} ", style="bold")
        line.truncate(self.app.size.width - 8, overflow="ellipsis")
        yield Static(Text.assemble(line, " y / n "), id="question")

    def on_key(self, event: Key) -> None:
        event.stop()
        self.dismiss(event.key in ("y", "Y"))


class FilterPrompt(ModalScreen[str | None]):
    """None: leave it as it was."""

    BINDINGS: ClassVar[list[BindingType]] = [_QUIT, Binding("escape", "give_up", show=False)]

    def __init__(self, before: str) -> None:
        super().__init__()
        self._before = before

    def compose(self) -> ComposeResult:
        yield Static("/", id="slash")
        yield Input(self._before, id="filter-input", restrict=_NO_CONTROLS)

    def on_mount(self) -> None:
        self.set_focus(self.query_one(Input))  # at once, not by the way: the next key may be there already

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip())

    def action_give_up(self) -> None:
        self.dismiss(None)


class Help(ModalScreen[None]):
    """Any key ends it."""

    BINDINGS: ClassVar[list[BindingType]] = [_QUIT]

    def compose(self) -> ComposeResult:
        yield Static(Text(HELP, no_wrap=True), id="help")

    def on_key(self, event: Key) -> None:
        event.stop()
        self.dismiss(None)

    def on_click(self) -> None:
        self.dismiss(None)

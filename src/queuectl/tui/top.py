"""The live view: keys come in, pictures from the reader go on the board."""

from __future__ import annotations

import asyncio
import signal
from typing import ClassVar

from textual.app import App
from textual.binding import Binding, BindingType
from textual.message import Message

from queuectl.tui.acting import ACTIONS, toggle_pause
from queuectl.tui.asking import Confirm, FilterPrompt, Help
from queuectl.tui.board import Board
from queuectl.tui.pictures import JobRow
from queuectl.tui.reader import Listener, Reader
from queuectl.tui.style import CSS
from queuectl.tui.table import Table
from queuectl.tui.wanted import STATES, Wanted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from queuectl.tui.details import Details
    from queuectl.tui.pictures import Picture
    from queuectl.tui.reader import Act
    from queuectl.tui.tail import Line

    Start = tuple[tuple[str, int], ...]

__all__ = ["Top", "run"]


class Told(Message):
    """Something that the reader's thread has to say, to be done in the screen's."""

    def __init__(self, show: Callable[[], None]) -> None:
        super().__init__()
        self.show = show


class _Mail(Listener):
    """Takes what the reader says over to the screen's thread."""

    def __init__(self, top: Top) -> None:
        self._top = top
        self._board = top.board

    def _post(self, show: Callable[[], None]) -> None:
        self._top.post_message(Told(show))

    def picture(self, picture: Picture) -> None:
        self._post(lambda: self._top.show_picture(picture))

    def details(self, details: Details | None) -> None:
        self._post(lambda: self._board.show_details(details))

    def log(self, key: str, lines: list[Line]) -> None:
        self._post(lambda: self._board.show_log(key, lines))

    def done(self, text: str, *, failed: bool) -> None:
        self._post(lambda: self._board.notice(text, failed=failed))

    def trouble(self, text: str | None) -> None:
        self._post(lambda: self._board.show_trouble(text))


_KEYS = {
    "q": "leave",
    "ctrl+c": "leave_now",
    "ctrl+z": "suspend_process",
    "question_mark,f1": "help",
    "slash": "filter",
    "escape": "clear",
    "s,tab": "state(1)",
    "S,shift+tab": "state(-1)",
    **{str(number): f"state_number({number})" for number in range(len(STATES))},
    "up,k": "go('up')",
    "down,j": "go('down')",
    "pageup": "go('page_up')",
    "pagedown": "go('page_down')",
    "home,g": "go('home')",
    "end,G": "go('end')",
    "left": "focus_queues",
    "right": "focus_jobs",
    "enter": "enter",
    "n": "next_page",
    "b": "page_back",
    "l": "toggle_log",
    "p": "pause",
    "r": "act('retry')",
    "c": "act('cancel')",
    "h": "act('hold')",
    "u": "act('release')",
    "d,delete": "act('delete')",
}


def _bindings() -> list[BindingType]:
    """All by priority: so they are obeyed here, one after the other. Keys that widgets take are put into the
    widget's own line, and who types fast would have `r` in `jr` mean the job before.
    """
    return [Binding(key, action, show=False, priority=True) for key, action in _KEYS.items()]


class Top(App[int]):
    """`clean` makes text harmless for a terminal; textual is never given any other."""

    CSS = CSS
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = _bindings()

    def __init__(self, url: str, clean: Callable[[str], str]) -> None:
        super().__init__(ansi_color=True)
        self.board = Board()
        self.reader = Reader(url, _Mail(self), clean)
        self._clean = clean
        self._wanted = Wanted()
        self._before: list[Start] = []  # where the pages before this one start
        self._following: Start | None = None  # where the next one does

    # --- beginning and end ----------------------------------------------------------------------------------

    def on_load(self) -> None:
        """Before the terminal is touched: whoever ends us gets it back as it was."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.exit, 128 + number)
        loop.add_signal_handler(signal.SIGINT, self.exit, 0)

    def get_default_screen(self) -> Board:
        return self.board

    def on_mount(self) -> None:
        self.reader.want(self._wanted)
        self.reader.start()

    def on_unmount(self) -> None:
        self.reader.stop()

    def action_leave(self) -> None:
        self.exit(0)

    def action_leave_now(self) -> None:
        self.exit(0)

    # --- what the reader says -------------------------------------------------------------------------------

    def on_told(self, message: Told) -> None:
        message.show()

    def show_picture(self, picture: Picture) -> None:
        if picture.wanted is self._wanted:  # else the person is elsewhere by now
            self._following = picture.following
            self.board.show_picture(picture, page=len(self._before) + 1)

    def on_table_chosen(self, event: Table.Chosen) -> None:
        if event.table is self.board.jobs:
            self.reader.choose(event.key)

    # --- keys that change what is seen ----------------------------------------------------------------------

    def _want(self, wanted: Wanted, before: list[Start] | None = None) -> None:
        self._wanted = wanted
        self._before = before or []
        self._following = None
        self.reader.want(wanted)

    def action_state(self, by: int) -> None:
        self.action_state_number((STATES.index(self._wanted.state) + by) % len(STATES))

    def action_state_number(self, number: int) -> None:
        self._want(Wanted(STATES[number], self._wanted.filter))

    def action_clear(self) -> None:
        if self.board.log_is_full:
            self.board.toggle_log()
        elif self._wanted.filter or self._before:
            self._want(Wanted(self._wanted.state))

    async def action_filter(self) -> None:
        def take(text: str | None) -> None:
            if text is not None and text != self._wanted.filter:
                self._want(Wanted(self._wanted.state, text))

        # Awaited, here and below: who types fast has the next key in the prompt, not in ours.
        await self.push_screen(FilterPrompt(self._wanted.filter), take)

    def action_go(self, where: str) -> None:
        self.board.go(where)

    def action_focus_queues(self) -> None:
        self.board.set_focus(self.board.queues)

    def action_focus_jobs(self) -> None:
        self.board.set_focus(self.board.jobs)

    def action_enter(self) -> None:
        row = self.board.queues.chosen
        if self.board.in_queues and row is not None:
            self._want(Wanted(self._wanted.state, f"queue:{row.key}"))
            self.board.set_focus(self.board.jobs)

    def action_next_page(self) -> None:
        if self._following is not None:
            before = [*self._before, self._wanted.start]
            self._want(Wanted(self._wanted.state, self._wanted.filter, self._following), before)

    def action_page_back(self) -> None:
        if self._before:
            *before, start = self._before
            self._want(Wanted(self._wanted.state, self._wanted.filter, start), before)

    def action_toggle_log(self) -> None:
        self.board.toggle_log()

    async def action_help(self) -> None:
        await self.push_screen(Help())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        """While something is asked, keys are none of ours but for the one that ends it all."""
        return action == "leave_now" or self.screen is self.board

    # --- keys that act --------------------------------------------------------------------------------------

    async def action_act(self, name: str) -> None:
        action, row = ACTIONS[name], self.board.jobs.chosen
        if not isinstance(row, JobRow):
            return
        key, shown = row.key, row.cells[1]
        refusal = action.refusal(row)
        if refusal is not None:
            self.board.notice(f"{shown} is {row.state}: {refusal}", failed=True)
            return
        await self._ask(f"{action.verb} {shown} ({row.state})?", lambda queue: action.does(queue, key))

    async def action_pause(self) -> None:
        """The queue of the chosen job, or the chosen queue."""
        board = self.board
        row = board.queues.chosen if board.in_queues else board.jobs.chosen
        if row is None:
            return
        name = row.queue_key if isinstance(row, JobRow) else row.key
        paused = board.is_paused(name)
        verb = "resume" if paused else "pause"
        await self._ask(f"{verb} queue {self._clean(name)}?", toggle_pause(name, paused=paused))

    async def _ask(self, question: str, act: Act) -> None:
        def take(yes: bool | None) -> None:
            if yes:
                self.reader.act(act)

        await self.push_screen(Confirm(question), take)


def run(url: str, clean: Callable[[str], str]) -> int:
    """Until the person has seen enough; returns the exit code."""
    top = Top(url, clean)
    code = top.run()
    return (top.return_code or 1) if code is None else code

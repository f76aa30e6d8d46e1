"""A terminal for a test: the real program on a pseudo-terminal, and a small model of its screen."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path
from typing import Any

from queuectl.testing import wait_until

POINTER = r"\x1b\]22;[a-z-]*\x07"  # textual's own: which shape the mouse pointer has
_CONTROL = re.compile(POINTER + r"|\x1b\[([0-9;?<>=$]*)([@-~])|\x1b[()][0-9A-B]|\x1b[=>78cM]|[\r\n\x08]")


class Screen:
    """As much of a terminal as textual uses: moves of the cursor, erasing, text; colours are left out."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self._cells = [[" "] * width for _ in range(height)]
        self._row = self._column = 0
        self.colours: set[str] = set()
        self.unknown: list[str] = []  # what is no text, and no control that a program of ours has a use for

    def feed(self, text: str) -> str:
        """Returns what is left: a control that has not come to its end yet."""
        position = 0
        while position < len(text):
            if text[position] not in "\x1b\r\n\x08":
                self._put(text[position])
                position += 1
                continue
            found = _CONTROL.match(text, position)
            if found is None:
                if len(text) - position < 30 and "\x1b" not in text[position + 1 :]:
                    return text[position:]
                self.unknown.append(text[position : position + 30])
                position += 1
                continue
            self._obey(found)
            position = found.end()
        return ""

    def _put(self, letter: str) -> None:
        if ord(letter) < 0x20 or 0x7F <= ord(letter) < 0xA0:
            self.unknown.append(letter)
        elif self._row < self.height and self._column < self.width:
            self._cells[self._row][self._column] = letter
        self._column += 1

    def _obey(self, found: re.Match[str]) -> None:
        parameters, final = found[1], found[2]  # None: no CSI
        if found[0] == "\r":
            self._column = 0
        elif found[0] == "\n":
            self._row += 1
        elif final == "m":
            self.colours.add(parameters)
        elif final == "H":
            row, _, column = parameters.partition(";")
            self._row, self._column = int(row or 1) - 1, int(column or 1) - 1
        elif final in ("C", "D"):
            self._column += int(parameters or 1) * (1 if final == "C" else -1)
        elif final == "J":
            self._cells = [[" "] * self.width for _ in range(self.height)]
        elif final == "K" and self._row < self.height:
            rest = self.width - self._column
            self._cells[self._row][self._column :] = [" "] * rest

    @property
    def lines(self) -> list[str]:
        return ["".join(row).rstrip() for row in self._cells]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


class Program:
    """`queuectl top` as a person has it before him."""

    def __init__(
        self, env: dict[str, str], cwd: Path, *words: str, width: int = 80, height: int = 24, **more: str
    ) -> None:
        self.screen = Screen(width, height)
        self.raw = b""
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._rest = ""
        self._leader, self._follower = pty.openpty()
        fcntl.ioctl(self._follower, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        self._modes_before = self._modes()
        quiet = {name: value for name, value in env.items() if name not in ("NO_COLOR", "COLUMNS", "LINES")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "queuectl", *(words or ("top",))],
            stdin=self._follower,
            stdout=self._follower,
            stderr=self._follower,
            env={**quiet, "TERM": "xterm-256color", **more},
            cwd=cwd,
        )
        os.set_blocking(self._leader, False)

    def _modes(self) -> list[Any]:
        return termios.tcgetattr(self._follower)

    def look(self) -> str:
        """The screen as it is now."""
        while True:
            try:
                block = os.read(self._leader, 65536)
            except BlockingIOError:
                return self.screen.text
            self.raw += block
            self._rest = self.screen.feed(self._rest + self._decoder.decode(block))

    def see(self, *texts: str, but: str | None = None, timeout: float = 15) -> str:
        """Wait until all of these are on the screen, and the other one is not."""

        def seen() -> bool:
            text = self.look()
            return all(part in text for part in texts) and (but is None or but not in text)

        try:
            wait_until(seen, timeout=timeout, what=f"{texts} without {but}")
        except AssertionError as error:
            raise AssertionError(f"{error}; the screen:\n{self.screen.text}") from None
        return self.screen.text

    def match(self, pattern: str) -> None:
        """Wait until a line is like this."""
        found = re.compile(pattern, re.MULTILINE)
        wait_until(lambda: found.search(self.look()), timeout=15, what=f"{pattern} in\n{self.screen.text}")

    def line(self, part: str) -> str:
        self.see(part)
        return next(line for line in self.screen.lines if part in line)

    def type(self, keys: str) -> None:
        os.write(self._leader, keys.encode())

    def end(self) -> int:
        """Wait for the program to end, reading what it still writes."""

        def ended() -> bool:
            self.look()
            return self.process.poll() is not None

        wait_until(ended, timeout=30, what="the program to end")
        self.look()
        return self.process.returncode

    def is_restored(self) -> bool:
        """Whether the terminal is as it was: modes, main screen, cursor, no reports of the mouse."""
        modes = {name: self._last_mode(name) for name in (b"1049", b"25", b"1000", b"1003", b"2004")}
        wanted = {b"1049": b"l", b"25": b"h", b"1000": b"l", b"1003": b"l", b"2004": b"l"}
        return modes == wanted and self._modes() == self._modes_before

    def _last_mode(self, number: bytes) -> bytes:
        found = re.findall(rb"\x1b\[\?" + number + rb"([hl])", self.raw)
        return found[-1] if found else b""

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(30)
        os.close(self._leader)
        os.close(self._follower)

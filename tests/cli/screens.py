"""Many commands in one process on a real terminal of 80 columns: what each showed, and how much it read.

Run as a program it is the process on that terminal. What to expect of a screen is left to the tests.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COLUMNS, LINES = 80, 24
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|\x1b.")


@dataclass(frozen=True)
class Screen:
    """One command's whole output; `steps` are those of SQLite's machine."""

    code: int
    text: str
    steps: int

    @property
    def plain(self) -> str:
        return ESCAPE.sub("", self.text)

    @property
    def lines(self) -> list[str]:
        return self.plain.replace("\r", "").splitlines()

    def too_wide(self) -> list[str]:
        """Not where one name fills the screen, nor a command to be copied: the terminal breaks them."""
        wide = [
            line for line in self.lines if width(line) > COLUMNS and not line.lstrip().startswith("try: ")
        ]
        return [line for line in wide if all(width(word) < COLUMNS - 10 for word in line.split())]


def width(line: str) -> int:
    """In cells of a terminal."""
    shown = (
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line
    )
    return sum(shown)


def show(commands: Sequence[Sequence[str]], *, notes: Path, **environment: str) -> list[Screen]:
    """What these commands show on a terminal, one after the other in one process."""
    from tests.support.cli import open_terminal, read_terminal  # not known to the program below

    leader, follower = open_terminal(columns=COLUMNS, lines=LINES)
    process = subprocess.Popen(
        [sys.executable, __file__, str(notes), json.dumps([list(words) for words in commands])],
        stdin=subprocess.DEVNULL,
        stdout=follower,
        stderr=follower,
        env={**os.environ, "TERM": "xterm-256color", **environment},
    )
    os.close(follower)
    seen = read_terminal(leader).decode("utf-8", "replace")
    os.close(leader)
    assert process.wait(60) == 0, seen
    results = json.loads(notes.read_text())
    texts = seen.split("\x00")
    return [Screen(code, text, steps) for (code, steps), text in zip(results, texts, strict=False)]


def _play(notes: str, commands: list[list[str]]) -> None:
    import apsw

    from queuectl.cli.main import main

    steps = 0

    def executed(event: dict[str, Any]) -> None:
        nonlocal steps
        steps += event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"]

    apsw.connection_hooks.append(lambda opened: opened.trace_v2(apsw.SQLITE_TRACE_PROFILE, executed))
    results = []
    for words in commands:
        before = steps
        sys.argv = ["queuectl", *words]
        try:
            code = main(words)
        except SystemExit as end:  # --help
            code = int(end.code or 0)
        sys.stdout.flush()
        sys.stderr.flush()
        os.write(1, b"\x00")  # which no command prints
        results.append((code, steps - before))
    Path(notes).write_text(json.dumps(results))


if __name__ == "__main__":
    _play(sys.argv[1], json.loads(sys.argv[2]))

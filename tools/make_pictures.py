"""Makes the pictures of the terminal in docs/images, out of what the commands really print on one.

What differs from run to run (times, names of workers and machines) is replaced by something of the same
width, so that a picture changes only when the program does. Those of the dashboard are made by tests/browser.
"""

from __future__ import annotations

import asyncio
import io
import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

IMAGES = Path(__file__).resolve().parent.parent / "docs/images"
COLUMNS, LINES = 80, 24
FONTS = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"
FONT_FACES = re.compile(r"\s*@font-face \{\{?.*?\}\}?\n(?=\s*(?:@font-face|\.))", re.DOTALL)
DARK = TerminalTheme(
    (24, 27, 34),
    (205, 209, 217),
    [
        *((60, 64, 72), (240, 113, 120), (127, 201, 127), (230, 192, 104)),
        *((110, 168, 254), (198, 146, 233), (94, 200, 200), (205, 209, 217)),
    ],
)
# What is replaced, each by as many characters.
VARYING = (
    (r"\S+-\d+-[0-9a-f]{6}\b", "box-2051-cc5795"),
    (r"\w{3}\s\d{4}-\d\d-\d\d\s\d\d:\d\d", "Tue\N{NO-BREAK SPACE}2026-11-17\N{NO-BREAK SPACE}09:30"),
    (r"(?<!\w\s)\d{4}-\d\d-\d\d\s\d\d:\d\d", "2026-11-17\N{NO-BREAK SPACE}09:30"),
    (r"/\S*/pictures-\w+/work\b", "/home/me/work"),
    (r"/\S*/pictures-\w+/\.queuectl/queue[^\s<]*", "/home/me/.queuectl/queue.db"),
)
JOBS = (
    ["--id", "build", "--tag", "release", "make -j8 all"],
    ["--id", "test", "--tag", "release", "--after", "build", "make test"],
    ["--id", "import-7", "--max-retries", "2", "--backoff-base", "0.1", "./import.sh customers.csv"],
    ["--id", "train", "--priority", "5", "--timeout", "6h", "./train.sh --epochs 10"],
    ["--id", "deploy", "--after", "train", "./deploy.sh production"],
    ["--id", "newsletter", "--queue", "mail", "--delay", "2h", "./send.sh newsletter"],
    ["--id", "welcome", "--queue", "mail", "./send.sh welcome ann@example.org"],
)
SCRIPTS = {
    "make": "echo 'cc -o app main.c'",
    "import.sh": "echo 'line 812: no such customer' >&2; exit 3",
    "train.sh": 'for epoch in 1 2 3 4; do echo "epoch $epoch: loss 0.$((90 - epoch * 11))"; done\n'
    "queuectl progress 40 'epoch 4/10'; sleep 120",
}


class Stage:
    """A home with some jobs in every state, and a worker that has done what could be done."""

    def __init__(self, folder: Path) -> None:
        self.work = folder / "work"
        self.work.mkdir()
        programs = folder / "bin"
        programs.mkdir()
        for name, text in {**SCRIPTS, "queuectl": f'exec "{sys.executable}" -P -m queuectl "$@"'}.items():
            path = (self.work if name.endswith(".sh") else programs) / name
            path.write_text(f"#!/bin/sh\n{text}\n")
            path.chmod(0o755)
        kept = {k: v for k, v in os.environ.items() if not k.startswith("QUEUECTL_") and k != "NO_COLOR"}
        path_names = f"{programs}{os.pathsep}{os.environ['PATH']}"
        self.env = {**kept, "HOME": str(folder), "PATH": path_names, "TERM": "xterm-256color", "TZ": "UTC"}

    def quietly(self, *words: str) -> None:
        subprocess.run(
            ["queuectl", *words], env=self.env, cwd=self.work, check=False, capture_output=True, timeout=60
        )

    def set(self) -> None:
        self.quietly("queue", "pause", "mail", "--reason", "server is moving")
        self.quietly("worker", "start", "--concurrency", "3")
        for words in JOBS:
            self.quietly("enqueue", *words)
        self.quietly("wait", "test", "import-7")
        self.quietly("wait", "train", "--timeout", "2s")  # so that it has said how far it is

    def strike(self) -> None:
        self.quietly("worker", "stop", "--now")

    def shown(self, *words: str) -> str:
        """What a command writes on a terminal, to its end."""
        leader, follower = pty.openpty()
        subprocess.run(["stty", "cols", str(COLUMNS), "rows", str(LINES)], stdin=follower, check=True)
        process = subprocess.Popen(
            ["queuectl", *words],
            stdin=follower,
            stdout=follower,
            stderr=follower,
            env=self.env,
            cwd=self.work,
        )
        os.close(follower)
        seen = b""
        while select.select([leader], [], [], 30)[0]:
            try:
                seen += os.read(leader, 65536)
            except OSError:  # the last of them has closed it
                break
        os.close(leader)
        process.wait(30)
        return seen.decode().replace("\r\n", "\n")


def alike(text: str) -> str:
    text = text.replace("&#160;", "\N{NO-BREAK SPACE}")
    for pattern, example in VARYING:
        text = re.sub(pattern, partial(_as_wide, example), text)
    return text


def _as_wide(example: str, found: re.Match[str]) -> str:
    """Names of workers are filled up like names, all else by blanks."""
    text = found[0]
    filling = "0" if text[-1].isalnum() and "/" not in text else "\N{NO-BREAK SPACE}"
    return (example + filling * len(text))[: len(text)]


def draw(name: str, parts: Sequence[tuple[str, str]]) -> None:
    """A picture of commands, each with what it printed."""
    console = Console(
        record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor"
    )
    for number, (command, output) in enumerate(parts):
        if number:
            console.print()
        console.print(Text.assemble(("$ ", "bold green"), (command, "bold")), soft_wrap=True)
        console.print(Text.from_ansi(alike(output).rstrip("\n")), soft_wrap=True)
    picture = console.export_svg(
        title="", theme=DARK, code_format=without_fonts(CONSOLE_SVG_FORMAT), unique_id=name
    )
    save(name, picture)


def without_fonts(picture: str) -> str:
    """Nothing is fetched for it from anywhere: the fonts are those of whoever looks at it."""
    return FONT_FACES.sub("\n", picture).replace("Fira Code, monospace", FONTS)


def save(name: str, picture: str) -> None:
    assert "@font-face" not in picture
    (IMAGES / f"terminal-{name}.svg").write_text(picture, encoding="utf-8")
    print(f"wrote terminal-{name}.svg")


def half_way(output: str) -> str:
    """Of a bar that was drawn again and again, the picture at about two thirds of it."""
    lines = output.split("\n")
    frames = [line.split("\r")[-1 - len(line.split("\r")) // 3] for line in lines if line.count("\r") > 4]
    before = [line for line in lines if line.count("\r") <= 4 and "completed" not in line]
    return "\n".join([*before, *frames]).strip("\n")


def draw_top(url: str) -> None:
    from queuectl.cli.output import clean
    from queuectl.tui.top import Top

    async def picture() -> str:
        top = Top(url, clean)
        async with top.run_test(size=(100, 30)) as pilot:
            await pilot.pause(2)
            await pilot.press("down", "down")  # to one that runs
            await pilot.pause(2)
            return top.export_screenshot(title="queuectl top")

    save("top", without_fonts(alike(asyncio.run(picture()))))


def pictures(stage: Stage, wanted: Sequence[str]) -> None:
    def shown(*words: str) -> tuple[str, str]:
        return f"queuectl {' '.join(words)}", stage.shown(*words)

    inputs = " ".join(f"{number}.png" for number in range(1, 41))
    mapped = ("map", "--wait", "-q", "pictures", "-j", "4", "sleep 0.1; : {}", ":::", *inputs.split())
    ways: dict[str, Callable[[], object]] = {
        "list": lambda: draw("list", [shown("status"), shown("list")]),
        "show": lambda: draw("show", [shown("show", "import-7")]),
        "explain": lambda: draw("explain", [shown("explain", "welcome"), shown("explain", "deploy")]),
        "top": lambda: draw_top(str(stage.work.parent / ".queuectl/queue.db")),
        "map": lambda: draw(
            "map",
            [("queuectl map --wait -j 4 'convert {} {.}.jpg' ::: *.png", half_way(stage.shown(*mapped)))],
        ),
    }
    for name, make in ways.items():
        if not wanted or name in wanted:
            make()


def main(wanted: Sequence[str]) -> None:
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="pictures-") as folder:
        stage = Stage(Path(folder))
        try:
            stage.set()
            pictures(stage, wanted)
        finally:
            stage.strike()
    print(f"in {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1:])

"""What a console block shows, done as a new user would: each line, its exit code and its output."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.docs.blocks import blocks_of
from tests.support.commands import run_command
from tests.support.home import path_with_queuectl

FORCED = ("QUEUECTL_PORTABLE",)  # the whole suite can run with it
EXIT_CODE = re.compile(r"\s+# exit code (\d+)$")
# What no shell changes: words between quotes, and signs that mean only themselves.
QUOTED = re.compile(r"'[^']*'|\"[^\"$`\\!]*\"")
PLAIN = re.compile(r"[\w\s.,:=/@%+-]*")

# What differs from run to run, in the order in which it is replaced.
VARYING = (
    (r"\S+-\d+-[0-9a-f]{6}\b", "WORKER"),
    (r"\b[0-9a-hjkmnp-tv-z]{13}\b", "ID"),
    (r"\b\d{4}-\d\d-\d\dT[\d:.]+Z|\b\d{8}T\d{6}Z", "WHEN"),
    (r"\bqueue-[0-9a-f]{8}-WHEN", "queue-MARK-WHEN"),
    (r"/\S*/\.queuectl/", "~/.queuectl/"),
    (r"(\(| )\d+(\.\d+)?[KMG]\b", r"\1SIZE"),
    (r"(\w{3} )?\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?( [A-Z]{3,4}\b)?", "WHEN"),
    (r"\((now|in \w+|\w+ ago)\)", "(AGO)"),
    (r"<?\b\d+(\.\d+)? ?(ms|s|m|h)\b", "SPAN"),
    (r", used SPAN of processor time", ""),  # too little to be told, now and then
    (r"(Throughput|Directory):.*", r"\1"),
    (r"[ \t]+", " "),
)


class Session:
    """The shell of a new user: an empty home, and `queuectl` on the path."""

    def __init__(self, directory: Path, *, worker_settings: dict[str, str] | None = None) -> None:
        self.worker_settings = worker_settings or {}
        self.directory = directory / "work"
        self.directory.mkdir()
        kept = {k: v for k, v in os.environ.items() if not k.startswith("QUEUECTL_") or k in FORCED}
        # Unbuffered, so that stdout and stderr come in the order that a terminal shows.
        path = path_with_queuectl(directory, "-u")
        self.environment = {**kept, "HOME": str(directory), "PATH": path, "NO_COLOR": "1"}

    def run(self, command: str | list[str]) -> subprocess.CompletedProcess[str]:
        """A plain `queuectl …` runs in this process, everything else in a shell of its own.

        So does what leaves a process behind: that would be a child of this one.
        """
        words = plain_words(command) if isinstance(command, str) else None
        starts_workers = words is not None and words[:2] in (["worker", "start"], ["worker", "restart"])
        if words and not starts_workers:
            return run_command(words, env=self.environment, cwd=self.directory, stderr=subprocess.STDOUT)
        return subprocess.run(
            command,
            shell=isinstance(command, str),
            cwd=self.directory,
            env=self.environment | (self.worker_settings if starts_workers else {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            check=False,
        )

    def follow(self, block: str) -> None:
        """Everything in it happens as it is written there."""
        for command, code, output in steps(block):
            done = self.run(command)
            assert done.returncode == code, f"{command}\n{done.stdout}"
            assert alike(done.stdout) == alike(output), command

    def close(self) -> None:
        self.run("queuectl worker stop --now")


def plain_words(command: str) -> list[str] | None:
    """The words after `queuectl`, if that is all that the line is: nothing is left to a shell."""
    if not command.startswith("queuectl ") or not PLAIN.fullmatch(QUOTED.sub("", command)):
        return None
    return shlex.split(command)[1:]


def steps(block: str) -> Iterator[tuple[str, int, str]]:
    """The commands of a console block, with the exit code and the output that it shows."""
    for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, output = step.partition("\n")
        while output.startswith("> "):  # the shell asks for the rest of it
            more, _, output = output.partition("\n")
            command += "\n" + more.removeprefix("> ")
        code = EXIT_CODE.search(command)
        yield EXIT_CODE.sub("", command), int(code[1]) if code else 0, output


def alike(text: str) -> list[str]:
    for pattern, word in VARYING:
        text = re.sub(pattern, word, text)
    return [line.strip() for line in text.strip().splitlines()]


def blocks(document: str, *kinds: str) -> list[tuple[str, str]]:
    return [(block.kind, block.body) for block in blocks_of(document, *kinds) if not block.not_run]

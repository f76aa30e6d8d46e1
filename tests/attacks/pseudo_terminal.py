"""Many commands on one real terminal, by one process: a start of Python for each would take minutes."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Sequence

from tests.support.home import Home

_RUN = """
import json, os, sys
terminal = os.dup(1)
from queuectl.cli.main import main
for number, words in enumerate(json.loads(sys.argv[1])):
    sys.stdout.flush()
    os.dup2(terminal, 1)  # who fails lets go of it
    os.write(1, b"<<%d>>" % number)
    try:
        code = main(words)
    except SystemExit as end:
        code = end.code
    sys.stdout.flush()
    os.write(terminal, b"<</%d %d>>" % (number, code or 0))
"""


def on_a_terminal(home: Home, commands: Sequence[Sequence[str]]) -> list[tuple[int, bytes]]:
    """For each of the commands its exit code and all that the terminal got to see."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", _RUN, json.dumps(commands)],
        stdin=follower, stdout=follower, stderr=follower, cwd=home.work,
        env={**home.env, "TERM": "xterm", "NO_COLOR": "1"},
    )  # fmt: skip
    os.close(follower)
    seen = _read_all(leader, time.monotonic() + 120)
    os.close(leader)
    assert process.wait(60) == 0, seen
    found = []
    for number in range(len(commands)):
        begin, end = b"<<%d>>" % number, b"<</%d " % number
        assert seen.count(begin) == seen.count(end) == 1, (commands[number], seen[-3000:])
        said, rest = seen.partition(begin)[2].split(end, 1)
        found.append((int(rest.partition(b">>")[0]), said))
    return found


def _read_all(fd: int, deadline: float) -> bytes:
    """Until the last process has closed the terminal, which Linux tells by an error."""
    seen = bytearray()
    while time.monotonic() < deadline:
        if select.select([fd], [], [], 0.5)[0]:
            try:
                block = os.read(fd, 65536)
            except OSError:
                return bytes(seen)
            seen += block
    raise AssertionError(f"a command did not end; so far: {seen[-3000:]!r}")

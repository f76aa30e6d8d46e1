"""queuectl demo: a short tour on a store of its own, of which nothing is left."""

from __future__ import annotations

import os
import signal
import sys

from queuectl.cli.options import parser
from queuectl.cli.output import say
from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.cli.options import Parser

_ABOUT = """Show what queuectl does, by doing it: jobs, a dependency, a retry, a dead letter, a schedule.
Every command that is shown is really run, on a store of its own in a temporary directory, which is removed
afterwards. Takes some ten seconds. The exit code is 0 only if all went as told."""

_EXAMPLES = """
  queuectl demo
  queuectl demo --step        waits for Enter after each command
"""


def build_parser() -> Parser:
    result = parser("demo", _ABOUT, _EXAMPLES, json=False)
    result.add_argument("--step", action="store_true", help="wait for Enter after each command")
    return result


def main(words: list[str]) -> int:
    options = build_parser().parse_args(words)
    if options.step and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InvalidInput("--step needs a terminal", "leave it out")
    from queuectl.cli.tour import END, INTRODUCTION, STEPS
    from queuectl.cli.tourguide import Guide, Interrupted, tell

    guide = Guide()
    try:
        with guide:
            tell(INTRODUCTION.format(place=guide.place))
            for step in STEPS:
                guide.show(step)
                if options.step:
                    guide.pause()
    except Interrupted:
        say("\nthe tour ends here; nothing of it is left")
        return 128 + (guide.stopped_by or signal.SIGINT)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1  # nobody has seen the rest of it
    tell(END)
    return 0

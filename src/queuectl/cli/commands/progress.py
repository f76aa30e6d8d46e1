"""queuectl progress: the command of a job tells how far it is."""

from __future__ import annotations

import os

from queuectl import system
from queuectl.cli.options import open_queue, parser
from queuectl.cli.output import clean
from queuectl.editing import set_progress
from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.cli.options import Parser

_ABOUT = """Say how far a job is, from inside its command. It is shown by list, show and status while the job
runs. The environment of the command says which job is meant."""

_EXAMPLES = """
  queuectl progress 40
  queuectl progress 40 "epoch 4/10"
"""


def build_parser() -> Parser:
    result = parser("progress", _ABOUT, _EXAMPLES, json=False)
    result.add_argument("percent", metavar="PERCENT", help="from 0 to 100")
    # With a default, or argparse would name it among what is missing.
    result.add_argument(
        "text", nargs="*", default=[], metavar="TEXT", help="what it is doing, in a few words"
    )
    return result


def main(words: list[str]) -> int:
    options = build_parser().parse_args(words)
    percent = _percent(options.percent)
    id, token = os.environ.get("QUEUECTL_JOB_ID"), os.environ.get(system.TOKEN_VARIABLE)
    if not id or not token:
        raise InvalidInput(
            "this is not inside a job",
            "call it from the command of a job, which knows what job it is",
        )
    with open_queue(options, create=False) as queue:
        if not queue.store.location.shared:
            queue.store.relax_durability()  # if the power fails, the run that it belongs to is lost too
        set_progress(queue, id, token, percent, clean(" ".join(options.text)))
    return 0


def _percent(text: str) -> int:
    """A whole number, rounded down: what is not done is never shown as 100."""
    try:
        value = float(text.strip().removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:  # NaN is not either
        raise InvalidInput(
            f"progress {text[:40]!r} is not a number from 0 to 100", "like: queuectl progress 40"
        )
    return int(value)

"""queuectl init: makes the store and says where it is."""

from __future__ import annotations

from queuectl.cli.options import open_queue, parser
from queuectl.cli.output import clean, print_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.cli.options import Parser

_ABOUT = "Make the store. The first job does that by itself; a store that exists is left as it is."

_EXAMPLES = """
  queuectl init
  queuectl init --db /srv/jobs.db
"""


def build_parser() -> Parser:
    return parser("init", _ABOUT, _EXAMPLES)


def main(words: list[str]) -> int:
    options = build_parser().parse_args(words)
    with open_queue(options) as queue:
        location = queue.store.location
        if options.json:
            print_json({"db": location.shown, "logs": location.logs_dir})
        else:
            print(f"✓ The store is ready: {clean(location.shown)}")
    return 0

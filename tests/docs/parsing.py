"""Command lines read by the parsers of the program, and nothing of them done."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

# Before anything is patched: those that take `open_queue` by name would keep what they find then.
import queuectl.agents.desk
import queuectl.assembly
import queuectl.cli.commands.enqueue
import queuectl.keeping
import queuectl.tui.reader
import queuectl.web.live
import queuectl.web.pool  # noqa: F401
from queuectl.cli.main import _dispatch
from queuectl.cli.options import Parser
from queuectl.errors import QueuectlError


class _ReadToItsEnd(Exception):
    pass


def complaint(words: Sequence[str]) -> str | None:
    """What the program says against `queuectl WORDS`; None if it understands them.

    It is stopped when all options are read, or, where the words of a job's command follow, before it opens
    the store: until then jobs are checked as `enqueue` would.
    """
    whole = Parser.parse_args

    def parse(self: Parser, *given: Any, **more: Any) -> Any:
        options = whole(self, *given, **more)
        if getattr(options, "words", None):
            return options
        raise _ReadToItsEnd

    def opened(*_: object, **__: object) -> None:
        raise _ReadToItsEnd

    with (
        patch.object(Parser, "parse_args", parse),
        patch("queuectl.app.open_queue", opened),
        patch("queuectl.cli.commands.enqueue.open_queue", opened),  # has it by name, if it was loaded before
        patch("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a\n"))),
        patch("sys.stdout", io.StringIO()),
    ):
        try:
            _dispatch(list(words))
        except _ReadToItsEnd:
            return None
        except SystemExit as end:  # --help
            return None if end.code in (0, None) else f"exit code {end.code}"
        except QueuectlError as error:
            # A document may speak of files that are not here.
            return None if error.message.endswith(os.strerror(errno.ENOENT)) else error.message
    return None

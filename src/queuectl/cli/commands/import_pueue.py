"""queuectl import-pueue: tasks of pueue become jobs."""

from __future__ import annotations

from queuectl.cli.jobspec import current_directory
from queuectl.cli.options import parser
from queuectl.cli.takeover import add_options, check_prefix, read_file, take_over
from queuectl.core import pueue
from queuectl.core.pueue_plan import plan_of
from queuectl.core.strictjson import MalformedJson, load_json
from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.cli.options import Parser

_ABOUT = """Take over the tasks of pueue, version 3 or 4: what `pueue status --json` prints, or the
state.json of its daemon (also compressed). Tasks that wait or have failed become jobs with the ids
pueue-0, pueue-1, …: with directory, priority, dependencies and time, the label as a tag, the group
as a queue with its limit. Stashed and paused tasks are held. What has succeeded or runs in pueue now
is left out. All or nothing; importing again adds only what is not there yet."""

_EXAMPLES = """
  pueue status --json | queuectl import-pueue --dry-run
  pueue status --json | queuectl import-pueue
  queuectl import-pueue state.json
"""

_HINT = "give what `pueue status --json` prints, or the state.json of its daemon"
_GZIP = b"\x1f\x8b"


def build_parser() -> Parser:
    result = parser("import-pueue", _ABOUT, _EXAMPLES)
    add_options(result, "pueue", "task")
    add = result.add_argument
    add("--running", action="store_true", help="also tasks that run in pueue now: stop pueue before")
    add("--env", action="store_true", help="also their environments, in which there may be secrets")
    add("--no-limits", action="store_true", help="do not limit queues as groups were")
    return result


def main(words: list[str]) -> int:
    options = build_parser().parse_args(words)
    options.cwd = None
    prefix = check_prefix(options.prefix)
    state = pueue.read(_load(_text(read_file(options.file))))
    plan = plan_of(state, prefix=prefix, everything=options.all, running=options.running, env=options.env)
    if options.no_limits:
        plan.limits.clear()
    return take_over(plan, options, current_directory(options))


def _text(data: bytes) -> str:
    if data.startswith(_GZIP):
        import gzip
        import zlib

        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise InvalidInput(f"the compressed file is damaged: {error}", _HINT) from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"the file is not UTF-8, at byte {error.start:,}", _HINT) from None


def _load(text: str) -> object:
    try:
        return load_json(text)
    except MalformedJson as error:
        raise InvalidInput(error.message, _HINT) from None

"""queuectl help: all commands, one of them, or a topic."""

from __future__ import annotations

from queuectl.cli.helppage import commands_document, commands_page
from queuectl.cli.main import ALIASES, COMMANDS
from queuectl.cli.options import help_width, parser
from queuectl.cli.output import print_json
from queuectl.cli.topicpage import topic_about, topic_names, topic_page, topic_source
from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from queuectl.cli.options import Parser

_ABOUT = """Show all commands; or what one of them does, as its --help; or a topic. The word topics lists
those. Text is as wide as the terminal."""

_EXAMPLES = """
  queuectl help
  queuectl help worker start
  queuectl help topics
  queuectl help exit-codes
  queuectl help from-pueue
"""

_ALL_TOPICS = "topics"


def build_parser() -> Parser:
    result = parser("help", _ABOUT, _EXAMPLES)
    result.add_argument("words", nargs="*", metavar="COMMAND|TOPIC", help="what to tell about")
    return result


def main(words: list[str]) -> int:
    options = build_parser().parse_args(words)
    name, *rest = options.words or [""]
    topic = "-".join(options.words).replace("_", "-").lower()
    if not name:
        _print(commands_document(), commands_page(), json=options.json)
    elif topic == _ALL_TOPICS:
        _print(commands_document()["topics"], _list_of_topics(), json=options.json)
    elif topic in topic_names():
        document = {"topic": topic, "about": topic_about(topic), "text": topic_source(topic)}
        _print(document, topic_page(topic, help_width()), json=options.json)
    else:
        return _of_command(name, rest)
    return 0


def _print(document: object, page: str, *, json: bool) -> None:
    if json:
        print_json(document)
    else:
        print(page)


def _list_of_topics() -> str:
    width = max(map(len, topic_names())) + 2
    rows = [f"  {name:<{width}}{topic_about(name)}" for name in topic_names()]
    return "\n".join([*rows, "", "queuectl help TOPIC shows one of them."])


def _of_command(name: str, rest: list[str]) -> int:
    command = ALIASES.get(name, name)
    if command not in COMMANDS:
        raise _unknown(name)
    module = __import__(f"queuectl.cli.commands.{command.replace('-', '_')}", fromlist=["main"])
    if rest and not (hasattr(module, "_COMMANDS") or hasattr(module, "_FURTHER")):
        # Never to the command itself: `help enqueue ls` must not store a job.
        raise InvalidInput(f"{command} has no commands below it", f"see: queuectl {command} --help")
    result = module.main([*rest[:1], "--help", *rest[1:]])
    assert isinstance(result, int)
    return result


def _unknown(name: str) -> InvalidInput:
    from difflib import get_close_matches

    known: Iterable[str] = (*topic_names(), *COMMANDS, *ALIASES, _ALL_TOPICS)
    near = get_close_matches(name.lower().replace("_", "-"), known, n=1, cutoff=0.6)
    hint = f"did you mean: queuectl help {near[0]}" if near else "queuectl help shows what there is"
    return InvalidInput(f"there is no command and no topic {name[:60]!r}", hint)

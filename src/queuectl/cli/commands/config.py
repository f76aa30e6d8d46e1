"""queuectl config: what is set, where it comes from, and changing it."""

from __future__ import annotations

from queuectl.cli.options import look_at_queue, open_queue, parser, subcommand
from queuectl.cli.output import clean, confirm, plural, print_json, print_table, say, somebody_is_there
from queuectl.config import sources
from queuectl.config.kinds import can_be_run
from queuectl.config.settings import KEYS
from queuectl.config.values import Value
from queuectl.errors import InvalidInput, NotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from queuectl.cli.options import Parser
    from queuectl.config.settings import Key
    from queuectl.queue import Queue

_ABOUT = """Settings, stored with the queue for its workers, which follow a change within seconds.
What wins: flag, then environment (QUEUECTL_MAX_RETRIES), then what `config set` stored,
then config.toml in the home, then the default.

  config list           all settings, and where they come from (also: config)
  config get KEY        the bare value
  config set KEY VALUE  change it
  config unset KEY      back to the default
  config reset          all of them back to the defaults"""

_EXAMPLES = """
  queuectl config list
  queuectl config get max-retries
  queuectl config set max-retries 5
  queuectl config set job-timeout 10m
  queuectl config unset job-timeout
"""

_HEADER = ("KEY", "VALUE", "ORIGIN", "MEANING")
_AGES = ("keep-completed", "keep-cancelled", "keep-dead")
_ALIASES = {"show": "list", "ls": "list", "delete": "unset", "rm": "unset"}


def build_parser() -> Parser:
    return parser("config", _ABOUT, _EXAMPLES)


def main(words: list[str]) -> int:
    name, rest = subcommand(words, tuple(_COMMANDS), "config", _ALIASES)
    if name is None and {"-h", "--help"} & set(rest):
        build_parser().parse_args(rest)
    return _COMMANDS[name or "list"](rest)


def _in_force(queue: Queue, key: Key) -> Value:
    return Value(key, sources.gather(queue.store.stored_config()))


def _name(key: Key, given: str) -> str:
    """The name to show: the key's own, but not where the given one counts differently."""
    return given.strip().lower().replace("_", "-") if sources.counts_attempts(given) else key.name


def _list(words: list[str]) -> int:
    options_of = parser("config list", "Show all settings.", "  queuectl config list --json")
    return _print_all(options_of.parse_args(words))


def _print_all(options: argparse.Namespace) -> int:
    with look_at_queue(options, mending=True) as queue:
        gathered = sources.gather(queue.store.stored_config())
    values = [Value(key, gathered) for key in KEYS.values()]
    if options.json:
        print_json({value.key.name: value.to_dict() for value in values})
    else:
        print_table(_HEADER, ((v.key.name, v.shown(), v.origin, v.key.help) for v in values), flowing=True)
    return 0


def _get(words: list[str]) -> int:
    examples = "  queuectl config get max-retries"
    options_of = parser("config get", "Print the value of a setting, or all.", examples)
    options_of.add_argument("key", nargs="?", metavar="KEY")
    options = options_of.parse_args(words)
    if options.key is None:
        return _print_all(options)
    key = sources.find_key(options.key)
    with look_at_queue(options, mending=True) as queue:
        value = _in_force(queue, key)
    if options.json:
        print_json({_name(key, options.key): value.to_dict(options.key)})
    else:
        print(clean(value.shown(options.key)))
    return 0


def _set(words: list[str]) -> int:
    examples = "  queuectl config set max-retries 5\n  queuectl config set keep-completed 7d"
    options_of = parser("config set", "Change a setting for all who use this queue.", examples)
    options_of.add_argument("key", metavar="KEY")
    options_of.add_argument("value", nargs="?", metavar="VALUE")
    options = options_of.parse_args(words)
    name, text = _assignment(options)
    try:
        key, stored = sources.to_stored(name, text)
        stored.encode()
    except NotFound as error:
        raise InvalidInput(error.message, error.hint) from None
    except UnicodeEncodeError:
        raise InvalidInput(f"the value of {name} is not valid UTF-8", "give plain text") from None
    if _deletes_soon(key, text) and somebody_is_there() and not confirm(_in_seconds(key, text), yes=False):
        say("nothing was changed")
        return 1
    with open_queue(options, mending=True) as queue:
        queue.set_config(key.name, stored)
        value = _in_force(queue, key)
    _report(options, name, key, sources.from_stored(name, stored), value)
    if _deletes_soon(key, text) and not somebody_is_there():
        say(f"note: {key.name} = {text.strip()} is that many seconds; days are {text.strip()}d")
    if key.name == "shell" and not can_be_run(stored):
        # Workers on other machines may have it.
        say(f"note: {stored} cannot be run on this machine: no shell line can be started here")
    return 0


def _deletes_soon(key: Key, text: str) -> bool:
    """A number alone is of seconds, here as everywhere. Of 30, the workers would leave nothing to regret."""
    return key.name in _AGES and text.strip().isdecimal() and int(text) > 0


def _in_seconds(key: Key, text: str) -> str:
    number = text.strip()
    return f"{key.name} = {number} is {number} seconds; days are {number}d. Delete jobs that soon?"


def _assignment(options: argparse.Namespace) -> tuple[str, str]:
    name, equals, text = options.key.partition("=")
    if options.value is not None:
        return options.key, options.value
    if not equals:
        raise InvalidInput(f"there is no value for {name[:60]}", "like: queuectl config set max-retries 5")
    return name, text


def _report(options: argparse.Namespace, name: str, key: Key, shown: str, in_force: Value) -> None:
    if options.json:
        print_json({_name(key, name): in_force.to_dict(name)})
    else:
        print(f"✓ {_name(key, name)} = {clean(shown)}")
    if in_force.origin == sources.ENVIRONMENT:
        variable = "QUEUECTL_" + key.name.upper().replace("-", "_")
        say(f"note: here the environment ({variable}) says {clean(in_force.shown(name))} and wins")


def _unset(words: list[str]) -> int:
    examples = "  queuectl config unset job-timeout"
    options_of = parser("config unset", "Remove a stored setting.", examples)
    options_of.add_argument("key", metavar="KEY")
    return _unset_key(options_of.parse_args(words))


def _unset_key(options: argparse.Namespace) -> int:
    key = sources.find_key(options.key)
    with open_queue(options, mending=True) as queue:
        if key.name not in queue.store.stored_config():
            say(f"{key.name} was not set in this queue")
        queue.set_config(key.name, None)
        value = _in_force(queue, key)
    if options.json:
        print_json({_name(key, options.key): value.to_dict(options.key)})
    else:
        shown = clean(value.shown(options.key))
        print(f"✓ {_name(key, options.key)} = {shown} ({value.origin})")
    return 0


def _reset(words: list[str]) -> int:
    examples = "  queuectl config reset\n  queuectl config reset max-retries"
    options_of = parser("config reset", "Remove all stored settings, or one.", examples)
    options_of.add_argument("key", nargs="?", metavar="KEY")
    options = options_of.parse_args(words)
    if options.key is not None:
        return _unset_key(options)
    with open_queue(options, mending=True) as queue:
        count = queue.reset_config()
    if options.json:
        print_json({"reset": count})
    else:
        print(f"✓ {plural(count, 'setting')} removed, the defaults hold")
    return 0


_COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "list": _list,
    "get": _get,
    "set": _set,
    "unset": _unset,
    "reset": _reset,
}

"""Builds the man pages in docs/man out of the parsers of the commands; the wheel installs them.

`--write` writes them; without it the names of those that are out of date are printed. `make check` looks too.
Where the words come from: the same places as docs/cli.md.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from make_cli_docs import EXIT_CODES, EXIT_STATUS, placeholder
from queuectl import __version__
from queuectl.cli.helppage import HEADINGS
from queuectl.cli.main import ALIASES, COMMANDS
from queuectl.cli.options import Parser
from queuectl.cli.parsers import does_something_alone, parser_of, subcommands

FOLDER = Path(__file__).resolve().parent.parent / "docs/man"

ABOUT = "A durable job queue for shell commands: retries, backoff, dead letters, no server."
EXAMPLES = """
  queuectl enqueue "echo hello"        store a job
  queuectl worker start --count 2      run jobs in the background
  queuectl status                      see how it goes
  queuectl logs last                   see what the newest job printed
  queuectl run -- echo hello           do it all in one go
"""
ENVIRONMENT = {
    "QUEUECTL_DB": "the store: a file, or the address of a server",
    "QUEUECTL_HOME": "where the store and the settings are (default: ~/.queuectl)",
    "QUEUECTL_MAX_RETRIES, …": "any setting of queuectl config",
    "NO_COLOR": "no colours",
    "FORCE_COLOR": "colours in a pipe, too",
}
SELECTORS = {
    "ID": "an id, which wins over all that follows",
    "last": "the newest job",
    "3,5-8": "by number, as queuectl list shows it; 5- is from there on",
    "all": "all jobs",
    "-": "ids from stdin",
    "01m2kx": "the beginning of an id, if only one job's begins so",
}


def pages() -> dict[str, str]:
    """Every page by the name of its file."""
    found = {"queuectl.1": _main_page()}
    found.update((f"queuectl-{name}.1", _command_page(name)) for name in COMMANDS)
    return found


def outdated() -> list[str]:
    """The names of the files that are missing, wrong or too many."""
    wanted = pages()
    there = {path.name: path.read_text(encoding="ascii") for path in FOLDER.glob("*.1")}
    return sorted(name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name))


# --- roff ---------------------------------------------------------------------------------------------------


def text(words: str) -> str:
    """Plain text as roff: nothing in it is an instruction, and it is ASCII."""
    safe = words.replace("\\", "\\e").replace("-", "\\-")
    safe = re.sub(r"[^\x00-\x7f]", lambda found: f"\\[u{ord(found[0]):04X}]", safe)
    return re.sub(r"^([.'])", r"\\&\1", safe, flags=re.MULTILINE)


def bold(words: str) -> str:
    return f"\\fB{text(words)}\\fR"


def italic(words: str) -> str:
    return f"\\fI{text(words)}\\fR"


def _head(name: str, about: str) -> Iterator[str]:
    yield f'.TH "{text(name.upper())}" "1" "" "queuectl {__version__}" "User Commands"'
    yield ".SH NAME"
    yield f"{text(name)} \\- {text(about)}"


def _paragraphs(words: str) -> Iterator[str]:
    """Sentences flow; a list with columns stays as it is."""
    for block in words.strip("\n").split("\n\n"):
        if block.startswith("  "):
            yield from _verbatim(block)
        else:
            yield ".PP"
            yield text(block)


def _verbatim(block: str) -> Iterator[str]:
    yield ".PP"
    yield ".nf"
    for line in block.strip("\n").splitlines():
        yield text(line.removeprefix("  ")) or "\\&"
    yield ".fi"


def _terms(terms: dict[str, str]) -> Iterator[str]:
    for term, meaning in terms.items():
        yield ".TP"
        yield bold(term)
        yield text(meaning)


# --- pages --------------------------------------------------------------------------------------------------


def _main_page() -> str:
    lines = [*_head("queuectl", "a durable job queue for shell commands"), ".SH SYNOPSIS"]
    lines.append(f"{bold('queuectl')} [{bold('--db')} {italic('FILE')}] {italic('COMMAND')} [options]")
    lines += [".SH DESCRIPTION", text(ABOUT), ".SH COMMANDS"]
    for heading, names in HEADINGS.items():
        lines.append(f'.SS "{text(heading)}"')
        for name in names:
            lines += [".TP", f"\\fBqueuectl\\-{text(name)}\\fR(1)", text(COMMANDS[name])]
    lines += [".SH NAMING JOBS", "Where a command takes ids of jobs:", *_terms(SELECTORS)]
    lines += [".SH EXIT STATUS", *_terms({str(code): words for code, words in EXIT_STATUS.items()})]
    lines += [".SH ENVIRONMENT", *_terms(ENVIRONMENT)]
    lines += [
        ".SH FILES",
        *_terms({"~/.queuectl/queue.db": "the store", "~/.queuectl/config.toml": "settings"}),
    ]
    lines += [".SH EXAMPLES", *_verbatim(EXAMPLES)]
    return _joined(lines)


def _joined(lines: list[str]) -> str:
    """A heading begins a paragraph by itself."""
    return re.sub(r"^(\.SH .*\n)\.PP\n", r"\1", "\n".join(lines) + "\n", flags=re.MULTILINE)


def _command_page(name: str) -> str:
    parts = subcommands(name)
    alone = does_something_alone(name)
    parser = parser_of(name) if alone else parser_of(name, "--help")
    lines = [*_head(f"queuectl-{name}", COMMANDS[name]), ".SH SYNOPSIS"]
    inner = {part: parser_of(name, *part.split()) for part in parts}
    for part, its in {**({"": parser} if alone else {}), **inner}.items():
        if lines[-1] != ".SH SYNOPSIS":
            lines.append(".br")
        lines.append(_synopsis(f"{name} {part}".strip(), its))
    lines += [".SH DESCRIPTION", *_paragraphs(parser.description or "")]
    also = [alias for alias, target in ALIASES.items() if target == name]
    if also:
        lines += [".PP", f"Also: {', '.join(bold(alias) for alias in also)}."]
    if alone:
        lines += [".SH OPTIONS", *_options(parser)]
    for part, its in inner.items():
        lines += [f'.SH "{text(f"{name} {part}".upper())}"', *_subcommand(its, parser)]
    lines += [*_exit_status(name, parts), *_examples(parser)]
    lines += [".SH SEE ALSO", "\\fBqueuectl\\fR(1)"]
    return _joined(lines)


def _subcommand(parser: Parser, whole: Parser) -> Iterator[str]:
    if parser.description != whole.description:  # said once, for all of them
        yield from _paragraphs(parser.description or "")
    yield from _options(parser)
    if parser.epilog != whole.epilog:
        yield from _verbatim((parser.epilog or "").removeprefix("examples:\n"))


def _synopsis(name: str, parser: Parser) -> str:
    words = [placeholder(action) for action in _shown(parser) if not action.option_strings]
    return " ".join([bold(f"queuectl {name}"), "[options]", *map(italic, words)])


def _options(parser: Parser) -> Iterator[str]:
    for group in parser._action_groups:
        actions = [action for action in _shown(parser) if action in group._group_actions]
        if not actions:
            continue
        if group.title not in ("options", "positional arguments"):
            yield ".PP"
            yield text((group.title or "").capitalize()) + ":"
        for action in actions:
            yield ".TP"
            yield _names(action)
            yield text(action.help or "") or "\\&"


def _shown(parser: Parser) -> list[argparse.Action]:
    return [action for action in parser._actions if action.help != argparse.SUPPRESS]


def _names(action: argparse.Action) -> str:
    if not action.option_strings:
        return italic(placeholder(action))
    value = ""
    if action.nargs != 0:
        word = str(action.metavar or "|".join(map(str, action.choices or ())) or action.dest.upper())
        value = f" [{italic(word)}]" if action.nargs == "?" else f" {italic(word)}"
    return ", ".join(bold(name) + value for name in action.option_strings)


def _exit_status(name: str, parts: list[str]) -> Iterator[str]:
    own = {f"{name} {part}".strip(): EXIT_CODES.get(f"{name} {part}".strip()) for part in ("", *parts)}
    told = {command: words.replace("`", "") for command, words in own.items() if words}
    if told:
        yield ".SH EXIT STATUS"
        yield from _terms({f"queuectl {command}": f"{words}." for command, words in told.items()})


def _examples(parser: Parser) -> Iterator[str]:
    if parser.epilog:
        yield ".SH EXAMPLES"
        yield from _verbatim(parser.epilog.removeprefix("examples:\n"))


def main() -> int:
    wrong = outdated()
    if "--write" not in sys.argv:
        print("\n".join(wrong) or "the man pages are up to date")
        return 1 if wrong else 0
    wanted = pages()
    FOLDER.mkdir(exist_ok=True)
    for name in wrong:
        if name in wanted:
            (FOLDER / name).write_text(wanted[name], encoding="ascii")
        else:
            (FOLDER / name).unlink()
    print(f"wrote {len(wrong)} man pages")
    return 0


if __name__ == "__main__":
    sys.exit(main())

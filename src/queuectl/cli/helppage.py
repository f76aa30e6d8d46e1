"""The page of `queuectl --help`: all commands under a few headings, and the names of the topics.

What one command does is left to its parser, what a topic says to `topicpage`.
"""

from __future__ import annotations

from queuectl.cli.main import COMMANDS
from queuectl.cli.options import help_width
from queuectl.cli.output import bold
from queuectl.cli.topicpage import topic_about, topic_names, wrapped

_USAGE = "usage: queuectl [--db FILE] COMMAND [options]"

# Every command is under one of them; what each does is said in `main.COMMANDS`.
HEADINGS = {
    "Put work in": ("enqueue", "run", "map", "schedule", "import-pueue", "import-joblog", "mcp"),
    "See how it goes": (
        *("status", "top", "dashboard", "list", "show", "explain", "logs", "graph", "wait", "stats"),
        "metrics",
    ),
    "Change jobs": ("cancel", "retry", "hold", "release", "edit", "move", "rm", "dlq", "progress"),
    "Workers, queues, settings": ("worker", "service", "queue", "config"),
    "Look after the store": (
        *("doctor", "backup", "restore", "cleanup", "vacuum", "export", "import", "copy", "init"),
    ),
    "Learn": ("demo", "help", "completion"),
}
_WITHOUT_HEADING = "More"


def commands_page() -> str:
    """For a terminal, or plain."""
    lines = [_USAGE, "", "A durable job queue for shell commands. Without a command: how things stand.", ""]
    width = max(map(len, COMMANDS)) + 2
    for heading, names in _grouped().items():
        lines.append(bold(heading))
        lines += [f"  {name:<{width}}{COMMANDS[name]}" for name in names]
    lines += ["", *wrapped(f"Topics: {', '.join(topic_names())}.", help_width())]
    lines += ["", "queuectl help COMMAND or queuectl help TOPIC says more. A tour: queuectl demo"]
    lines += ["Everywhere: --db FILE (the store), --json, --help. queuectl --version"]
    return "\n".join(lines)


def commands_document() -> dict[str, object]:
    """The same for programs."""
    return {
        "commands": [
            {"name": name, "about": COMMANDS[name], "heading": heading}
            for heading, names in _grouped().items()
            for name in names
        ],
        "topics": [{"name": name, "about": topic_about(name)} for name in topic_names()],
    }


def _grouped() -> dict[str, tuple[str, ...]]:
    """A command that nobody has put under a heading is not left out."""
    placed = {name for names in HEADINGS.values() for name in names}
    further = tuple(name for name in COMMANDS if name not in placed)
    return {**HEADINGS, _WITHOUT_HEADING: further} if further else HEADINGS

"""queuectl completion: the script that teaches a shell to complete our words."""

from __future__ import annotations

import os

from queuectl.cli.options import parser

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.cli.options import Parser

_ABOUT = """Print a script that makes a shell complete commands, options, job ids, queues, schedules, workers
and settings. The store is only looked at. A package of your system may have installed it already."""

_EXAMPLES = """
  source <(queuectl completion bash)              for this shell
  queuectl completion bash >> ~/.bash_completion  for every one
  queuectl completion zsh > ~/.zfunc/_queuectl    with ~/.zfunc in fpath
  queuectl completion fish > ~/.config/fish/completions/queuectl.fish
"""

_FILES = {"bash": "queuectl.bash", "zsh": "_queuectl", "fish": "queuectl.fish"}


def build_parser() -> Parser:
    result = parser("completion", _ABOUT, _EXAMPLES, json=False)
    result.add_argument("shell", choices=tuple(_FILES), help="your shell: echo $SHELL")
    return result


def main(words: list[str]) -> int:
    options = build_parser().parse_args(words)
    print(script(options.shell), end="")
    return 0


def script(shell: str) -> str:
    """What the wheel installs for this shell."""
    folder = os.path.join(os.path.dirname(os.path.dirname(__file__)), "shells")
    with open(os.path.join(folder, _FILES[shell]), encoding="utf-8") as file:
        return file.read()

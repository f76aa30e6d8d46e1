"""Help in colours. Whether there are any is left to `output.colours`, not to rich."""

from __future__ import annotations

from typing import ClassVar

from rich.console import Console
from rich_argparse import RawDescriptionRichHelpFormatter

from queuectl.cli.options import flowing, help_width


class RichFormatter(RawDescriptionRichHelpFormatter):
    """The same words in the same places as without colours."""

    group_name_formatter = str
    styles: ClassVar = {
        **RawDescriptionRichHelpFormatter.styles,
        "argparse.groups": "yellow",
        "argparse.prog": "default",
    }
    # Brackets are brackets: `[1]` in an example is no markup.
    help_markup = False
    text_markup = False

    def __init__(self, prog: str) -> None:
        # The eight colours that every terminal has.
        console = Console(force_terminal=True, no_color=False, color_system="standard", width=help_width())
        super().__init__(prog, width=help_width(), console=console)

    def add_text(self, text: object) -> None:
        super().add_text(flowing(text, help_width()) if isinstance(text, str) else text)  # type: ignore[arg-type]

"""A death report on the screen, for `show` and `explain`."""

from __future__ import annotations

from queuectl.cli.output import clean, print_prose

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.core.deaths import Death
    from queuectl.core.job import Attempt

__all__ = ["print_death"]


def print_death(attempt: Attempt, death: Death) -> None:
    print(f"\nHow attempt {attempt.run} died:")
    print_prose(f"  {clean(death.text)}", indent=4)
    if death.hint:
        print_prose(f"  ({clean(death.hint)})", indent=4)
    if death.used:
        print_prose(f"  {clean(death.used)}", indent=4)
    if death.stderr:
        print("  Its last words on stderr:")
    for line in death.stderr:
        print(f"    {clean(line)}")

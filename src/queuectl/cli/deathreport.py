"""A death report on the screen, for `show` and `explain`."""

from __future__ import annotations

from queuectl.cli.output import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.core.deaths import Death
    from queuectl.core.job import Attempt

__all__ = ["print_death"]


def print_death(attempt: Attempt, death: Death) -> None:
    print(f"\nHow attempt {attempt.run} died:")
    print(f"  {clean(death.text)}")
    if death.hint:
        print(f"  ({clean(death.hint)})")
    if death.used:
        print(f"  {clean(death.used)}")
    if death.stderr:
        print("  Its last words on stderr:")
    for line in death.stderr:
        print(f"    {clean(line)}")

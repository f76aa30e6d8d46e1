"""`python -m proof.fuzzer TARGET …`: atheris on one target; the other words are options of libFuzzer.

A process of its own: libFuzzer never returns, and ends the process at the first finding.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any


def main() -> None:
    atheris: Any = import_module("atheris")  # without types of its own, and not on every machine
    name, *options = sys.argv[1:]
    with atheris.instrument_imports(include=["queuectl", "cronsim", "tests.fuzz"]):
        targets = import_module("tests.fuzz.targets")
        target = targets.all_targets()[name]
    atheris.Setup([sys.argv[0], *options], target)
    atheris.Fuzz()


if __name__ == "__main__":
    main()

"""What `queuectl` offers to Python programs, and what importing it costs."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys

import pytest

import queuectl

HEAVY = {
    "apsw",
    "argparse",
    "asyncio",
    "dataclasses",
    "datetime",
    "logging",
    "pathlib",
    "psutil",
    "rich",
    "subprocess",
    "tomllib",
    "typing",
    "urllib",
}


def loaded_by(statement: str) -> set[str]:
    """The modules that a statement adds to a fresh interpreter, without site's own."""
    code = (
        "import sys; before = set(sys.modules); " + statement + "; "
        "sys.stdout.write(' '.join(set(sys.modules) - before))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return set(result.stdout.split())


def test_every_public_name_is_there() -> None:
    for name in queuectl.__all__:
        assert getattr(queuectl, name) is not None


def test_a_star_import_brings_exactly_the_public_names() -> None:
    code = (
        "before = set(globals()) | {'before'}\nfrom queuectl import *\n"
        "import json\nprint(json.dumps(sorted(set(globals()) - before - {'json'})))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert json.loads(result.stdout) == sorted(queuectl.__all__)


def test_public_names_are_the_ones_of_their_modules() -> None:
    for name, module in queuectl._HOMES.items():
        assert getattr(queuectl, name) is getattr(importlib.import_module(module), name)
    assert {*queuectl._HOMES, "__version__"} == set(queuectl.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Qeue'"):
        _ = queuectl.Qeue


def test_importing_the_package_loads_nothing_else() -> None:
    assert loaded_by("import queuectl") == {"__future__", "queuectl"}


def test_the_queue_loads_only_what_a_short_command_needs() -> None:
    loaded = loaded_by("from queuectl import Queue")
    assert "queuectl.queue" in loaded
    assert not loaded & HEAVY


def test_the_errors_load_nothing_else_of_ours() -> None:
    loaded = loaded_by("from queuectl import QueuectlError")
    assert {name for name in loaded if name.startswith("queuectl")} == {
        "queuectl",
        "queuectl.errors",
    }


def test_the_queue_has_the_documented_methods() -> None:
    documented = "open enqueue enqueue_many get list wait cancel retry stats"
    assert set(documented.split(" ")) <= set(dir(queuectl.Queue))

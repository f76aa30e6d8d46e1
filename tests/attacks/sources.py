"""All of our code, parsed once: some tests are about what it must not say."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import queuectl

ROOT = Path(queuectl.__file__).parent


@cache
def trees() -> dict[str, ast.Module]:
    """By the path below the package."""
    return {
        str(path.relative_to(ROOT)): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(ROOT.rglob("*.py"))
    }

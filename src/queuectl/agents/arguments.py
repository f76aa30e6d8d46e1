"""The arguments of a tool, read against its JSON schema, with errors in our words.

Only what our own schemas use is known here. What makes a job is left to `core.spec`.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from queuectl.core.fields import kind_of
from queuectl.errors import InvalidInput

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


def read_arguments(given: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """Those given, checked, and the defaults of those that are not. `null` is as good as nothing."""
    known = schema["properties"]
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}?" if near else "known: " + ", ".join(known)
            raise InvalidInput(f"unknown argument {name[:60]!r}", hint)
    result = {name: value for name, value in given.items() if value is not None}
    for name in schema.get("required", ()):
        if name not in result:
            raise InvalidInput(f"the argument {name!r} is missing", _said(known[name]))
    for name, value in result.items():
        _check(name, value, known[name])
    defaults = {name: one["default"] for name, one in known.items() if "default" in one}
    return {**defaults, **result}


def _said(schema: dict[str, Any]) -> str:
    return str(schema.get("description", f"give {_article(schema['type'])}"))


def _check(name: str, value: object, schema: dict[str, Any]) -> None:
    wanted = schema["type"]
    if not isinstance(value, _TYPES[wanted]) or (isinstance(value, bool) and wanted != "boolean"):
        raise InvalidInput(f"{name} must be {_article(wanted)}, not {kind_of(value)}", _said(schema))
    if "enum" in schema and value not in schema["enum"]:
        raise InvalidInput(f"{name} cannot be {str(value)[:40]!r}", "choose " + ", ".join(schema["enum"]))
    if wanted in ("integer", "number"):
        _check_range(name, float(str(value)), schema)
    if isinstance(value, list):
        if len(value) > schema.get("maxItems", len(value)):
            raise InvalidInput(f"{name} has {len(value)} entries", f"give at most {schema['maxItems']}")
        for one in value:
            _check(f"each of {name}", one, schema["items"])


def _check_range(name: str, value: float, schema: dict[str, Any]) -> None:
    least, most = schema.get("minimum", value), schema.get("maximum", value)
    if not least <= value <= most:
        raise InvalidInput(f"{name} is out of range", f"give a number from {least:,} to {most:,}")


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeio" else f"a {kind}"

"""JSON as people and shells hand it to us: read strictly, with errors that name the place and the remedy.

What the fields mean is left to `core.spec`.
"""

from __future__ import annotations

import json

from queuectl.errors import InvalidInput

QUOTING = (
    "the shell has eaten the quotes; write it like this: "
    """queuectl enqueue '{"id":"job1","command":"echo hi"}' """
    'or use --id job1 --command "echo hi"'
)


class MalformedJson(InvalidInput):
    """It is no JSON at all; the message names line and column."""


def load_json(text: str) -> object:
    """JSON in the strict sense: no duplicate names, no NaN; errors name line and column."""
    try:
        value, end = _DECODER.raw_decode(text)
        if end == len(text):
            return value
    except (ValueError, RecursionError):
        pass
    return _load_slowly(text)


def _load_slowly(text: str) -> object:
    """What is wrong with it, or has blanks around it. `json.loads` makes a decoder anew each time."""
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise MalformedJson(
            f"malformed JSON at line {error.lineno}, column {error.colno}: {error.msg}",
            _json_hint(text, error.pos),
        ) from None
    except RecursionError:
        raise InvalidInput("the JSON is nested too deeply", "a job is one flat object") from None
    except ValueError:  # Python refuses to read integers of thousands of digits
        raise InvalidInput("the JSON holds a number that is far too long", "use a smaller one") from None


def _json_hint(text: str, position: int) -> str:
    # Some versions of Python point to the comma, others to what follows it.
    if text[:position].rstrip().endswith(",") or text[position : position + 1] == ",":
        after = text[position:].lstrip(", \t\r\n")[:1]
        if after in ("}", "]"):
            return f"take the comma before the {after} away"
    if text.lstrip().startswith("{") and '"' not in text:
        return QUOTING
    return """like: '{"id": "job1", "command": "echo hi"}'"""


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise InvalidInput(f"field {_double(pairs)[:60]!r} is given twice", "give it once")
    return result


def _double(pairs: list[tuple[str, object]]) -> str:
    seen: set[str] = set()  # not by counting: of a million names that would take hours
    for name, _ in pairs:
        if name in seen:
            break
        seen.add(name)
    return name


def _no_constant(name: str) -> object:
    raise InvalidInput(f"{name} is not a JSON number", "use an ordinary number")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant)

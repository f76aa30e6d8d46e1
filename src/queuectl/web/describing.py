"""What a route takes and gives, in the words of the OpenAPI document: a body, answers, errors."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

_PROBLEM = {
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
    "description": "What is wrong, and what to do about it",
}
_ERRORS: dict[int | str, dict[str, Any]] = dict.fromkeys(
    (400, 401, 403, 404, 405, 408, 409, 413, 415, 421, 422, 429, 503), _PROBLEM
)


def gives(model: type[BaseModel], *statuses: int, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """For a route: what it answers, and what it takes."""
    answers: dict[int | str, dict[str, Any]] = {status: {"model": model} for status in statuses or (200,)}
    result: dict[str, Any] = {"responses": {**_ERRORS, **answers}}
    if body is not None:
        content = {"application/json": {"schema": body}}
        result["openapi_extra"] = {"requestBody": {"required": True, "content": content}}
    return result


def gives_text() -> dict[str, Any]:
    text = {"content": {"text/plain": {"schema": {"type": "string"}}}}
    return {
        "responses": {
            **_ERRORS,
            200: {**text, "description": "All of it"},
            206: {**text, "description": "A part"},
            416: _PROBLEM,
        }
    }


def gives_nothing(status: int = 204) -> dict[str, Any]:
    return {"responses": {**_ERRORS, status: {"description": "Done"}}}

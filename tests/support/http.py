"""What the tests of the API have in common: good answers, and problems."""

from __future__ import annotations

from typing import Any

import httpx


def ok(answer: httpx.Response, status: int = 200) -> Any:
    """The JSON of an answer that must be a good one."""
    assert answer.status_code == status, (answer.status_code, answer.text)
    return answer.json() if answer.content else None


def problem(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """The document of an answer that must be this error."""
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    document: dict[str, Any] = answer.json()
    assert (answer.status_code, document["code"]) == (status, code), document
    assert set(document) == {"type", "title", "status", "code", "detail", "hint"}
    assert document["status"] == status
    assert document["type"] == f"urn:queuectl:problem:{code}"
    assert document["detail"]
    assert document["title"]
    return document

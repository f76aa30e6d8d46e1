"""The OpenAPI document: valid, complete, true."""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import httpx
import jsonschema_rs
import pytest
import schemathesis
from fastapi.routing import APIRoute
from hypothesis import HealthCheck, Phase, settings

import queuectl.web
from queuectl.core.fields import FIELDS
from queuectl.web.app import describe, make_routes
from tests.support.dashboard import Server
from tests.support.http import ok

EXAMPLES = 15  # for each operation


def routes() -> set[tuple[str, str]]:
    """All that the modules have, whatever the document says; those that are no part of the API say so."""
    found: set[tuple[str, str]] = set()
    for module in pkgutil.iter_modules(queuectl.web.__path__):
        router = getattr(import_module(f"queuectl.web.{module.name}"), "router", None)
        for route in router.routes if router is not None and router.include_in_schema else ():
            assert isinstance(route, APIRoute)
            found |= {(method, f"/api/v1{route.path}") for method in route.methods}
    assert len(found) > 30
    return found


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def test_every_route_is_described() -> None:
    document = describe(make_routes())
    assert {(method, path) for method, path, _ in operations(document)} == routes()
    for method, path, operation in operations(document):
        assert operation["summary"], (method, path)
        assert operation["tags"], (method, path)
        assert not operation["summary"].istitle(), (method, path)  # the name of a function, not a sentence
        assert set(operation["responses"]) & {"200", "201", "204"}, (method, path)
    names = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(set(names)) == len(names)


def test_every_field_of_a_job_can_be_given() -> None:
    document = describe(make_routes())
    body = document["paths"]["/api/v1/jobs"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert set(body["properties"]) == set(FIELDS)
    for name, kind in body["properties"].items():
        assert kind, name  # something is said about it


def test_it_is_served_whole_and_names_nothing_outside(server: Server, api: httpx.Client) -> None:
    document = ok(api.get("/openapi.json"))
    assert document["openapi"].startswith("3.1")
    text = json.dumps(document)
    assert "http://" not in text
    assert "https://" not in text
    for schema in document["components"]["schemas"].values():
        jsonschema_rs.meta.validate(schema)
    for reference in _references(document):
        assert reference.startswith("#/components/schemas/")
        assert reference.rpartition("/")[2] in document["components"]["schemas"]


def _references(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for name, one in value.items():
            if name == "$ref":
                yield one
            else:
                yield from _references(one)
    elif isinstance(value, list):
        for one in value:
            yield from _references(one)


@pytest.mark.long
@pytest.mark.timeout(300)
def test_no_request_breaks_it_and_no_answer_breaks_its_word(server: Server, api: httpx.Client) -> None:
    """Requests that fit the document, and such that do not: no 5xx, no answer that it does not describe."""
    for fields in ({"id": "0"}, {"id": "1", "hold": True}, {"id": "2", "queue": "mail", "delay": "1h"}):
        ok(api.post("/jobs", json={"command": "true", **fields}), 201)
    ok(api.put("/schedules/0", json={"recurrence": "@daily", "job": {"command": "true"}}), 201)
    document = ok(api.get("/openapi.json"))
    del document["paths"]["/api/v1/stream"]  # it does not end; see test_stream.py
    del document["paths"]["/api/v1/session"]["post"]  # ten wrong codes, and it lets nobody try for a minute
    schema = schemathesis.openapi.from_dict(document)
    schema.config.update(base_url=server.url)
    tried = 0
    with httpx.Client(timeout=30) as client:
        for result in schema.get_all_operations():
            operation = result.ok()
            tried += 1
            _try(operation, client, server)
    assert tried == len(list(operations(document)))
    assert server.process.poll() is None


def _try(operation: Any, client: httpx.Client, server: Server) -> None:
    headers = {"Authorization": f"Bearer {server.token}"}
    from hypothesis import given

    modes = schemathesis.GenerationMode
    strategy = operation.as_strategy(generation_mode=modes.POSITIVE) | operation.as_strategy(
        generation_mode=modes.NEGATIVE
    )

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=strategy)
    def check(case: Any) -> None:
        case.headers = {**(case.headers or {}), **headers}
        response = case.call(timeout=30)
        case.validate_response(
            response,
            checks=(
                schemathesis.checks.not_a_server_error,
                schemathesis.specs.openapi.checks.status_code_conformance,
                schemathesis.specs.openapi.checks.content_type_conformance,
                schemathesis.specs.openapi.checks.response_schema_conformance,
            ),
        )

    check()

"""The web application: its routes, its errors, its guard. Serving it is left to `server`."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse

from queuectl import __version__
from queuectl.clock import SYSTEM_CLOCK, Clock
from queuectl.web import (
    answers,
    problems,
    routes_actions,
    routes_jobs,
    routes_output,
    routes_pages,
    routes_queues,
    routes_session,
    routes_stats,
    stream,
)
from queuectl.web.guard import Guard
from queuectl.web.live import Live
from queuectl.web.pool import Pool
from queuectl.web.reading import known_query
from queuectl.web.tokens import Tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

API = "/api/v1"
_ABOUT = (
    "Everything that the command line can do with a queue. Whoever may enqueue can run commands as the "
    "user of the workers: guard the tokens."
)


class Application:
    """What one server needs: `asgi` answers requests, `close` ends everything."""

    def __init__(
        self,
        url: str,
        tokens: Tokens,
        *,
        port: int,
        names: tuple[str, ...] = (),
        behind_proxy: bool = False,
        secure: bool = False,
        read_only: bool = False,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.pool = Pool(url)
        self.live = Live(self.pool)
        self.routes = make_routes()
        self.asgi = Guard(
            _HeadAsGet(self.routes),
            tokens,
            port=port,
            names=names,
            behind_proxy=behind_proxy,
            secure=secure,
            read_only=read_only,
        )
        state = self.routes.state
        state.pool, state.live, state.tokens, state.clock = self.pool, self.live, tokens, clock
        state.guard, state.read_only, state.secure = self.asgi, read_only, secure

    def close(self) -> None:
        self.live.close()
        self.pool.close()


class _HeadAsGet:
    """ASGI: what GET gives, HEAD gives too; the server leaves the body out."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "HEAD":
            scope = {**scope, "method": "GET", "head": True}
        await self._app(scope, receive, send)


def make_routes() -> FastAPI:
    app = FastAPI(
        title="queuectl",
        version=__version__,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # one address for each thing
    )
    problems.install(app)
    api = APIRouter(prefix=API, dependencies=[Depends(known_query)])
    for module in (
        routes_session,
        routes_actions,  # before the routes of one job, of which no id shall be "actions"
        routes_jobs,
        routes_output,
        routes_queues,
        routes_stats,
        stream,
    ):
        api.include_router(module.router)

    @api.get("/openapi.json", include_in_schema=False)
    def openapi(_: Request) -> JSONResponse:
        return JSONResponse(describe(app))

    app.include_router(api)
    app.include_router(routes_pages.router)
    return app


def describe(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document."""
    if not hasattr(app.state, "document"):
        document = get_openapi(
            title="queuectl",
            version=__version__,
            description=_ABOUT,
            routes=app.routes,
            openapi_version="3.1.0",
        )
        parts = document.setdefault("components", {})
        parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        parts.setdefault("schemas", {})["Problem"] = answers.Problem.model_json_schema()
        document["security"] = [{"token": []}]
        document["paths"][f"{API}/session"]["post"]["security"] = []  # the door itself
        for operation in _operations(document):
            # The first sentence says what it does; a name of a function would say less.
            text = operation.pop("description")
            operation["summary"], _, more = text.partition("\n\n")
            if more:
                operation["description"] = more
        app.state.document = document
    found: dict[str, Any] = app.state.document
    return found


def _operations(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [operation for path in document["paths"].values() for operation in path.values()]

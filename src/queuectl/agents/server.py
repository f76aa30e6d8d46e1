"""The tools on stdin and stdout, by the official SDK. The only module that knows it.

stdout carries the protocol and nothing else: the SDK keeps it for itself; what others print goes to stderr.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from difflib import get_close_matches
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from queuectl import __version__
from queuectl.agents.arguments import read_arguments
from queuectl.agents.desk import Answer, Desk, Patience
from queuectl.agents.runs import Runs
from queuectl.agents.text import Clean
from queuectl.agents.tools import INSTRUCTIONS, TOOLS, Tool, offered
from queuectl.errors import InvalidInput, QueuectlError, Refused

_log = logging.getLogger(__name__)

# Threads at a time. Those that wait are counted apart, or a few of them would keep out who only looks.
_MOST_CALLS = 8
_MOST_WAITS = 32


def serve(url: str, clean: Clean, *, read_only: bool) -> None:
    """Until stdin is closed, or a signal comes. Does not return: nobody is left to hear of it."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    runs = Runs()
    try:
        anyio.run(_serve, Desk(url, runs, clean, read_only=read_only))
    finally:
        runs.close()
        _leave()


def _leave() -> None:
    """At once: the thread that reads stdin, or one that waits for a job, would keep the process."""
    sys.stderr.flush()
    os._exit(0)


def make_server(desk: Desk) -> Server[Any]:
    """The tools as a server of the SDK's, which can be run on any pair of streams."""
    service = _Service(desk)
    return Server(
        "queuectl",
        version=__version__,
        title="queuectl",
        instructions=INSTRUCTIONS,
        on_list_tools=service.list_tools,
        on_call_tool=service.call_tool,
    )


async def _serve(desk: Desk) -> None:
    server = make_server(desk)
    async with anyio.create_task_group() as group:
        group.start_soon(_heed_signals, desk.runs)
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
        group.cancel_scope.cancel()


async def _heed_signals(runs: Runs) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
        async for _ in signals:
            # In a thread: a second signal must find us listening.
            await anyio.to_thread.run_sync(runs.close)
            _leave()


class _Service:
    """Answers requests; each call runs in a thread of its own."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._tools = offered(read_only=desk.read_only)
        self._calls = anyio.CapacityLimiter(_MOST_CALLS)
        self._waits = anyio.CapacityLimiter(_MOST_WAITS)

    async def list_tools(
        self, _context: object, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(name, tool) for name, tool in self._tools.items()])

    async def call_tool(self, _context: object, params: types.CallToolRequestParams) -> types.CallToolResult:
        patience = Patience()
        tool = self._tools.get(params.name)
        limiter = self._waits if tool is not None and tool.waits else self._calls
        call = partial(self._call, params.name, params.arguments or {}, patience)
        try:
            answer = await anyio.to_thread.run_sync(call, limiter=limiter, abandon_on_cancel=True)
        finally:
            patience.end()  # the thread of a call that was taken back ends soon; its job goes on
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=answer.words)],
            structured_content=answer.document,
            is_error=answer.failed,
        )

    def _call(self, name: str, given: dict[str, Any], patience: Patience) -> Answer:
        try:
            tool = self._find(name)
            return tool.does(self._desk, read_arguments(given, tool.takes), patience)
        except QueuectlError as error:
            return self._desk.refusal(error)
        except Exception as error:
            _log.exception("the tool %s failed", name)
            failure = QueuectlError(f"internal error: {type(error).__name__}: {error}", "this is a bug")
            return self._desk.refusal(failure)

    def _find(self, name: str) -> Tool:
        if name in self._tools:
            return self._tools[name]
        if name in TOOLS:
            raise Refused(f"the tool {name} is not offered: this server may only look", "see tools/list")
        near = get_close_matches(name, self._tools, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "the tools are: " + ", ".join(self._tools)
        raise InvalidInput(f"there is no tool {name[:60]!r}", hint)


def _described(name: str, tool: Tool) -> types.Tool:
    return types.Tool(
        name=name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.takes,
        output_schema=tool.gives,
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=not tool.changes,
            destructive_hint=tool.changes,
            idempotent_hint=not tool.changes,
            open_world_hint=tool.changes,
        ),
    )

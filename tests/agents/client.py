"""The tools of `queuectl mcp`, called by the SDK's own client: in this process, or over stdio."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from tests.support.home import Home

from queuectl.agents.desk import Desk
from queuectl.agents.server import make_server
from queuectl.testing import wait_until

LONGEST_TEST_S = 60


class McpClient:
    """Calls tools, and reads what they answer."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def names(self) -> set[str]:
        return {tool.name for tool in (await self.client.list_tools()).tools}

    async def call(self, name: str, **arguments: object) -> dict[str, Any]:
        """The document that a tool gives."""
        result = await self.client.call_tool(name, arguments)
        assert not result.is_error, result.content
        document: dict[str, Any] = result.structured_content
        return document

    async def text(self, name: str, **arguments: object) -> str:
        result = await self.client.call_tool(name, arguments)
        return str(result.content[0].text)  # type: ignore[union-attr]

    async def refused(self, name: str, **arguments: object) -> dict[str, Any]:
        result = await self.client.call_tool(name, arguments)
        assert result.is_error, result.content
        error: dict[str, Any] = result.structured_content["error"]
        assert error["message"] in result.content[0].text  # type: ignore[union-attr]
        return error

    async def until(self, name: str, done: Callable[[dict[str, Any]], bool], **arguments: object) -> None:
        """Call a tool again and again; the time for the whole scenario is bounded."""
        while not done(await self.call(name, **arguments)):
            await anyio.sleep(0.02)


async def appearance(path: Path) -> None:
    """Until a job has made a file."""
    await anyio.to_thread.run_sync(lambda: wait_until(path.exists, what=f"{path.name} to appear"))


Scenario = Callable[[McpClient], Awaitable[None]]
Play = Callable[..., None]


async def play_in_process(desk: Desk, scenario: Scenario) -> None:
    with anyio.fail_after(LONGEST_TEST_S):
        async with Client(make_server(desk)) as client:
            await scenario(McpClient(client))


async def play_over_stdio(
    home: Home, errors: Path, scenario: Scenario, words: tuple[str, ...], mode: str
) -> None:
    server = StdioServerParameters(
        command=sys.executable, args=["-P", "-m", "queuectl", "mcp", *words], env=home.env, cwd=home.work
    )
    with errors.open("w+") as log, anyio.fail_after(LONGEST_TEST_S):
        async with Client(stdio_client(server, errlog=log), mode=mode) as client:
            await scenario(McpClient(client))
    assert errors.read_text() == ""

"""An agent: the SDK's own client, over stdio, against the real process."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from tests.support.home import Home

from queuectl.testing import wait_until


class Agent:
    """Calls tools, and remembers what was told on stderr."""

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
        """Call a tool again and again; the time for it all is bounded by the talk."""
        while not done(await self.call(name, **arguments)):
            await anyio.sleep(0.02)


async def appearance(path: Path) -> None:
    """Until a job has made a file."""
    await anyio.to_thread.run_sync(lambda: wait_until(path.exists, what=f"{path.name} to appear"))


Scenario = Callable[[Agent], Awaitable[None]]
Talk = Callable[..., None]


@pytest.fixture
def talk(home: Home, tmp_path: Path) -> Talk:
    """Start `queuectl mcp`, play a scenario, close its stdin; it must have kept quiet on stderr."""

    def run(scenario: Scenario, *words: str, mode: str = "auto") -> None:
        anyio.run(_talk, home, tmp_path / "stderr", scenario, words, mode)

    return run


async def _talk(home: Home, errors: Path, scenario: Scenario, words: tuple[str, ...], mode: str) -> None:
    server = StdioServerParameters(
        command=sys.executable, args=["-P", "-m", "queuectl", "mcp", *words], env=home.env, cwd=home.work
    )
    with errors.open("w+") as log, anyio.fail_after(60):
        async with Client(stdio_client(server, errlog=log), mode=mode) as client:
            await scenario(Agent(client))
    assert errors.read_text() == ""

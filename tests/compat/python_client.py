"""The official Python client in the era of the first argument; prints what it saw as one line of JSON.

It holds the conversation of `converse.mjs`: the second argument is the server to use, the rest runs the workbench.
"""

import json
import sys
from typing import Any

import anyio
from mcp import Client, StdioServerParameters
from mcp.client import ClientRequestContext
from mcp_types import (
    CallToolResult,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
    ListRootsResult,
    Root,
    TextContent,
)
from pydantic import BaseModel, FileUrl

Json = dict[str, Any]


def plain(model: BaseModel) -> Json:
    return model.model_dump(mode="json", by_alias=True, exclude_unset=True)


class Conversation:
    """What one client says and sees."""

    def __init__(self, era: str, server: str, command: str, arguments: list[str]) -> None:
        self._server = server
        self._questions: list[Json] = []
        self._progress: list[Json] = []
        self._client = Client(
            StdioServerParameters(command=command, args=arguments),
            mode="legacy" if era == "legacy" else "auto",
            elicitation_callback=self._elicited,
            sampling_callback=self._sampled,
            list_roots_callback=self._rooted,
        )

    async def hold(self) -> Json:
        async with self._client as client:
            seen: Json = {
                "version": client.protocol_version,
                "instructions": client.instructions,
                "tools": [tool.name for tool in (await client.list_tools()).tools],
                "opened": plain(await client.call_tool("open_toolbox", {"toolbox_name": "dev"})),
                "added": await self._use("add", a=1, b=2.5),
                "form": await self._use("ask", together=2, times=2),
                "url": await self._use("ask", url=True),
                "sampled": await self._use("sample", message="Sing"),
                "rooted": await self._use("roots"),
                "failed": await self._use("fail", text="it broke"),
                "mistaken": await self._use("no_such_tool"),
                "cancelled": await self._cancelled(),
                "afterwards": await self._use("echo", still="here"),
            }
        return {**seen, "progress": self._progress, "questions": self._questions}

    async def _use(self, tool: str, **arguments: Any) -> Json:
        return plain(await self._called(tool, arguments))

    async def _called(self, tool: str, arguments: Json, **options: Any) -> CallToolResult:
        reference = {"toolbox": "dev", "server": self._server, "tool": tool}
        return await self._client.call_tool("use_tool", {"tool": reference, "arguments": arguments}, **options)

    async def _cancelled(self) -> Json | str:
        with anyio.CancelScope() as wish:

            async def report(progress: float, total: float | None, message: str | None) -> None:
                self._progress.append({"progress": progress, "total": total, "message": message})
                if len(self._progress) == 3:
                    wish.cancel()

            return plain(await self._called("progress", {"n": 1000, "interval": 0.02}, progress_callback=report))
        return "no longer wanted"

    async def _elicited(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        self._note("elicitation/create", plain(params))
        if isinstance(params, ElicitRequestFormParams):
            return ElicitResult(action="accept", content={"name": "blue"})
        return ElicitResult(action="accept")

    async def _sampled(self, context: ClientRequestContext, params: CreateMessageRequestParams) -> CreateMessageResult:
        self._note("sampling/createMessage", plain(params))
        return CreateMessageResult(role="assistant", model="m", content=TextContent(type="text", text="hi"))

    async def _rooted(self, context: ClientRequestContext) -> ListRootsResult:
        self._note("roots/list", {})
        return ListRootsResult(roots=[Root(uri=FileUrl("file:///home/you"), name="home")])

    def _note(self, method: str, params: Json) -> None:
        self._questions.append({"method": method, "params": params})


if __name__ == "__main__":
    _, own_era, server_name, program, *rest = sys.argv
    sys.stdout.write(json.dumps(anyio.run(Conversation(own_era, server_name, program, rest).hold)) + "\n")

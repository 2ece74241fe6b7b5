"""Toolboxes: open them, find a tool in them, call it, close them all. Knows names, not processes."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.abc
from mcp.shared.exceptions import MCPError
from mcp_types import URL_ELICITATION_REQUIRED

from mcp_workbench.config.loading import LoadedConfig
from mcp_workbench.config.models import ToolboxConfig
from mcp_workbench.downstream.caller import Caller
from mcp_workbench.downstream.connection import Connection
from mcp_workbench.downstream.questions import Parking
from mcp_workbench.downstream.tool_call import CallTimedOut, ToolCall
from mcp_workbench.downstream.tool_list import ToolList
from mcp_workbench.errors import CallFailed, ConnectFailed, ToolboxFailed, ToolboxNotOpen, UnknownServer, UnknownToolbox
from mcp_workbench.jsonrpc import codec
from mcp_workbench.jsonrpc.codec import JSONObject
from mcp_workbench.jsonrpc.errors import BadAnswer, PeerGone, RemoteError
from mcp_workbench.redaction import Redactor
from mcp_workbench.suggestions import closest

OnNews = Callable[[str, str, JSONObject], None]
"""Hears what a server tells outside any call: its toolbox and name, the notification's method and params."""


@dataclass(frozen=True)
class ToolReference:
    """Which tool to call."""

    toolbox: str
    server: str
    tool: str


@dataclass(frozen=True)
class OpenedToolbox:
    """What came of opening a toolbox: the tools of the servers that connected, the reasons of those that did not."""

    name: str
    config: ToolboxConfig
    tools: Mapping[str, ToolList]
    errors: Mapping[str, ConnectFailed]

    def as_json(self) -> str:
        """The text that `open_toolbox` answers with; the tools in it were written when they were read."""
        head = codec.compact(
            {"toolbox": self.name, "description": self.config.description, "servers_connected": len(self.tools)}
        )
        entries = ",".join(entry for server, tools in self.tools.items() for entry in tools.entries(self.name, server))
        errors = f',"_errors":{codec.compact([str(error) for error in self.errors.values()])}' if self.errors else ""
        return f'{head[:-1]},"tools":[{entries}]{errors}}}'


class ClientManager:
    """The servers of all toolboxes. Made by `running`, which also ends them."""

    def __init__(self, loaded: LoadedConfig, tasks: anyio.abc.TaskGroup, on_news: OnNews) -> None:
        self.config = loaded.config
        self._redact = Redactor(loaded.secrets)
        self._parking = Parking(tasks)
        self._open: set[str] = set()
        self._connections = {
            toolbox: {
                server: Connection(toolbox, server, entry, redact=self._redact, tasks=tasks, on_news=on_news)
                for server, entry in config.servers.items()
            }
            for toolbox, config in self.config.toolboxes.items()
        }

    @classmethod
    @asynccontextmanager
    async def running(
        cls, loaded: LoadedConfig, on_news: OnNews = lambda origin, method, params: None
    ) -> AsyncGenerator["ClientManager"]:
        """A manager whose servers live no longer than the block."""
        async with anyio.create_task_group() as tasks:
            manager = cls(loaded, tasks, on_news)
            try:
                yield manager
            finally:
                with anyio.CancelScope(shield=True):
                    await manager.close()
                tasks.cancel_scope.cancel()

    def connections(self, toolbox: str) -> Mapping[str, Connection]:
        """The connections of one toolbox, in config order."""
        return self._connections[toolbox]

    async def open(self, name: str, caller: Caller) -> OpenedToolbox:
        """Open a toolbox: connect what is not connected, all at once.

        Raises:
            UnknownToolbox: There is none of that name.
            ToolboxFailed: It has servers, and none of them could be connected.
        """
        if name not in self._connections:
            raise UnknownToolbox(
                f"Toolbox '{name}' not found in configuration" + closest(name, list(self._connections), "toolbox")
            )
        opened = await self._connect_all(name, caller)
        if opened.errors and not opened.tools:
            raise ToolboxFailed("\n".join(str(error) for error in opened.errors.values()))
        self._open.add(name)
        return opened

    async def call(self, reference: ToolReference, arguments: Mapping[str, Any], caller: Caller) -> JSONObject:
        """Use a tool of an open toolbox; its result as it came.

        Raises:
            UnknownToolbox, ToolboxNotOpen, UnknownServer, UnknownTool: The reference leads nowhere.
            ConnectFailed: Its server cannot be connected.
            CallFailed: Its server did not answer with a result.
            MCPError: The client must do something first, or its retry leads nowhere.
        """
        connection = self._find(reference)
        try:
            with connection.in_use():
                result = await self._parking.converse(await self._begin(connection, reference.tool, arguments, caller))
        except RemoteError as error:
            if error.code == URL_ELICITATION_REQUIRED:  # the client knows what to do with it, a sentence would hide it
                raise MCPError(error.code, error.message, error.data) from None
            raise self._failed(reference, f"{error.message} (code {error.code})") from None
        except (BadAnswer, PeerGone, CallTimedOut) as error:
            raise self._failed(reference, str(error)) from None
        if result.get("resultType") == "input_required":
            connection.expect_answer()
        return result

    def tell(self, method: str, params: Mapping[str, Any]) -> None:
        """Pass a notification of the client's to every connected legacy server."""
        for connections in self._connections.values():
            for connection in connections.values():
                connection.tell(method, params)

    def set_log_level(self, level: str) -> None:
        """Ask every legacy server for log messages of this severity and above, now and when it is next connected."""
        for connections in self._connections.values():
            for connection in connections.values():
                connection.set_log_level(level)

    async def close(self) -> None:
        """End every server, all at once."""
        self._parking.close()
        async with anyio.create_task_group() as stopping:
            for connections in self._connections.values():
                for connection in connections.values():
                    stopping.start_soon(connection.stop)

    async def _connect_all(self, name: str, caller: Caller) -> OpenedToolbox:
        outcomes: dict[str, ToolList | ConnectFailed] = {}

        async def connect(server: str, connection: Connection) -> None:
            try:
                outcomes[server] = await connection.open(caller)
            except ConnectFailed as failure:
                outcomes[server] = failure

        async with anyio.create_task_group() as connecting:
            for server, connection in self._connections[name].items():
                connecting.start_soon(connect, server, connection)
        ordered = [(server, outcomes[server]) for server in self._connections[name]]
        tools = {server: outcome for server, outcome in ordered if isinstance(outcome, ToolList)}
        errors = {server: outcome for server, outcome in ordered if isinstance(outcome, ConnectFailed)}
        return OpenedToolbox(name, self.config.toolboxes[name], tools, errors)

    async def _begin(self, connection: Connection, tool: str, arguments: Mapping[str, Any], caller: Caller) -> ToolCall:
        if caller.state is None:
            return await connection.begin(tool, arguments, caller)
        resumption = self._parking.resumption(caller)
        connection.answer_came()
        return resumption.parked or await connection.begin(tool, arguments, caller, resumption.retry)

    def _find(self, reference: ToolReference) -> Connection:
        toolbox, server = reference.toolbox, reference.server
        if toolbox not in self._connections:
            raise UnknownToolbox(
                f"Toolbox '{toolbox}' not found" + closest(toolbox, list(self._connections), "toolbox")
            )
        if toolbox not in self._open:
            call = codec.compact({"toolbox_name": toolbox})
            raise ToolboxNotOpen(f"Toolbox '{toolbox}' is not open. Call open_toolbox with {call} first.")
        connections = self._connections[toolbox]
        if server not in connections:
            raise UnknownServer(
                f"Server '{server}' not found in toolbox '{toolbox}'" + closest(server, list(connections), "server")
            )
        return connections[server]

    def _failed(self, reference: ToolReference, reason: str) -> CallFailed:
        return CallFailed(reference.toolbox, reference.server, reference.tool, self._redact(reason))

"""Toolboxes: open them, find a tool in them, call it, close them all. Knows names, not processes.

What there is follows the config: `apply` brings the servers to what a config says, and starting up is applying the
first one to nothing.
"""

import json
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import anyio
import anyio.abc
import anyio.to_thread
from mcp.shared.exceptions import MCPError
from mcp_types import URL_ELICITATION_REQUIRED

from mcp_workbench.config.loading import LoadedConfig
from mcp_workbench.config.models import ServerConfig, ToolboxConfig
from mcp_workbench.downstream.caller import Ask, Caller
from mcp_workbench.downstream.connection import Connection, OnNotification, Shared
from mcp_workbench.downstream.logins import LoginQuestions, Logins
from mcp_workbench.downstream.outside import OutsideQuestions
from mcp_workbench.downstream.questions import Parking
from mcp_workbench.downstream.tool_call import CallTimedOut
from mcp_workbench.downstream.tool_list import ToolList
from mcp_workbench.errors import CallFailed, ConnectFailed, ToolboxFailed, ToolboxNotOpen, UnknownServer, UnknownToolbox
from mcp_workbench.jsonrpc import codec
from mcp_workbench.jsonrpc.codec import JSONObject
from mcp_workbench.jsonrpc.errors import BadAnswer, PeerGone, RemoteError
from mcp_workbench.logs import redact_log_with
from mcp_workbench.redaction import Redactor
from mcp_workbench.suggestions import closest
from mcp_workbench.toolboxes.activity import Activity, RecordedActivity
from mcp_workbench.toolboxes.admissions import Admissions
from mcp_workbench.toolboxes.offers import Query
from mcp_workbench.toolboxes.opening import OpenedToolbox, Opening
from mcp_workbench.toolboxes.sightings import Verdict

if TYPE_CHECKING:
    from mcp_workbench.toolboxes.finding import Finder, Findings

logger = logging.getLogger(__name__)

MAX_CALLS = 50_000
"""Calls that may be under way at a time, of all servers."""

Connections = dict[str, dict[str, Connection]]


@dataclass(frozen=True)
class ToolReference:
    """Which tool to call."""

    toolbox: str
    server: str
    tool: str


class ClientManager:
    """The servers of all toolboxes. Made by `running`, which also ends them."""

    def __init__(
        self,
        loaded: LoadedConfig,
        tasks: anyio.abc.TaskGroup,
        on_notification: OnNotification,
        redact: Redactor,
        activity: Activity,
    ) -> None:
        self.activity = activity
        self._loaded = loaded
        self._redact = redact
        self._outside = OutsideQuestions(tasks)
        self._parking = Parking(tasks, self._outside)
        self._shared = Shared(tasks, self._redact, self._parking, self._outside, on_notification, activity.became)
        self._logins = Logins()
        self._log_level: str | None = None
        self._open: set[str] = set()
        self._connections: Connections = {}
        self._admissions = Admissions(self._redact)
        self._finder: Finder | None = None
        self._retiring: set[Connection] = set()
        self._calls = 0
        self.applied = anyio.Event()
        """Set when the next config is applied; another one stands here from then on."""
        self.apply(loaded)

    @classmethod
    @asynccontextmanager
    async def running(
        cls,
        loaded: LoadedConfig,
        on_notification: OnNotification = lambda origin, method, params: None,
        *,
        recorded: bool = False,
    ) -> AsyncGenerator["ClientManager"]:
        """A manager whose servers live no longer than the block; what they do is written down if it is `recorded`."""
        redact = Redactor(())
        redact_log_with(redact)
        async with anyio.create_task_group() as tasks:
            activity = RecordedActivity(redact) if recorded else Activity()
            manager = cls(loaded, tasks, on_notification, redact, activity)
            try:
                yield manager
            finally:
                with anyio.CancelScope(shield=True):
                    await manager.close()
                activity.close()
                tasks.cancel_scope.cancel()

    @property
    def loaded(self) -> LoadedConfig:
        """The config as it stands now."""
        return self._loaded

    def apply(self, loaded: LoadedConfig) -> None:
        """Let the servers be those of this config.

        What did not change keeps its process, its session and its calls. What changed or went away finishes the calls
        under way, in bounded time, and ends; nothing is started before it is used.
        """
        self._redact.learn(loaded.secrets)
        self._admissions.apply(loaded)
        self.activity.configured(loaded)
        before, self._loaded = self._connections, loaded
        self._connections = {
            toolbox: {name: self._kept_or_new(before, toolbox, name, entry) for name, entry in box.servers.items()}
            for toolbox, box in loaded.config.toolboxes.items()
        }
        self._open &= self._connections.keys()
        kept = set(self._all_connections())
        for connection in (connection for servers in before.values() for connection in servers.values()):
            if connection not in kept:
                self._retire_soon(connection, "the config changed")
        self.applied.set()
        self.applied = anyio.Event()

    def restart(self, toolbox: str, server: str, why: str) -> bool:
        """Let the next use of a server start it afresh; whether there was anything to end or to forget.

        A run that is there finishes its calls, in bounded time, and ends; what was never started stays so.
        """
        servers = self._connections.get(toolbox, {})
        old = servers.get(server)
        if old is None or not old.has_run:
            return False
        # A new table, since an opening that is under way goes on with the old one.
        self._connections[toolbox] = {**servers, server: self._new(toolbox, server, old.config)}
        self._retire_soon(old, why)
        return True

    def connections(self, toolbox: str) -> Mapping[str, Connection]:
        """The connections of one toolbox, in config order."""
        return self._connections[toolbox]

    def known_tools(self, reference: ToolReference) -> ToolList | None:
        """The tools of a server as it last listed them; None if there is no such server, or it never did."""
        connection = self._connections.get(reference.toolbox, {}).get(reference.server)
        return connection.known_tools if connection is not None else None

    async def open(self, name: str, caller: Caller) -> OpenedToolbox:
        """Open a toolbox: connect what is not connected, all at once.

        Raises:
            UnknownToolbox: There is none of that name.
            ToolboxFailed: It has servers, and none of them could be connected.
            InputNeeded: The client has to answer questions first.
        """
        if name not in self._connections:
            raise self._unknown(name)
        self._take_answers(caller)
        config = self._loaded.config.toolboxes[name]
        connections = self._connections[name]
        questions = LoginQuestions(self._logins, caller)
        opening = Opening(name, connections, config.open_timeout, self._outside, questions)
        await opening.run()
        opened = _opened(name, config, connections, opening.outcomes)
        opened = replace(opened, notes={server: self._admissions.of(name, server).notes() for server in opened.tools})
        if opened.errors and not opened.tools:
            raise ToolboxFailed(list(opened.errors.values()))
        if name in self._connections:  # a new config may have come meanwhile
            self._open.add(name)
        return opened

    async def call(self, reference: ToolReference, arguments: Mapping[str, Any], caller: Caller) -> JSONObject:
        """Use a tool of an open toolbox; its result as it came.

        Raises:
            UnknownToolbox, ToolboxNotOpen, UnknownServer, UnknownTool: The reference leads nowhere.
            ConnectFailed: Its server cannot be connected.
            CallFailed: Its server did not answer with a result.
            InputNeeded: The client has to answer questions before the server is connected.
            MCPError: The client must do something first, or its retry leads nowhere.
        """
        with self.activity.call(reference.toolbox, reference.server, reference.tool, arguments) as call:
            call.result = await self._call(reference, arguments, caller)
            return call.result

    async def _call(self, reference: ToolReference, arguments: Mapping[str, Any], caller: Caller) -> JSONObject:
        connection = self._find(reference)
        caller = self._take_answers(caller)
        if self._calls >= MAX_CALLS:
            raise self._failed(reference, f"{MAX_CALLS:,} calls are under way, as many as there may be")
        self._calls += 1
        try:
            if reference.toolbox not in self._open:
                await self._connect_one(connection, caller)
            return await connection.call(reference.tool, arguments, caller)
        except RemoteError as error:
            if error.code == URL_ELICITATION_REQUIRED:  # the client knows what to do with it, a sentence would hide it
                raise MCPError(error.code, error.message, error.data) from None
            raise self._failed(reference, f"{error.message} (code {error.code})") from None
        except (BadAnswer, PeerGone, CallTimedOut) as error:
            raise self._failed(reference, str(error)) from None
        finally:
            self._calls -= 1

    def verdict(self, toolbox: str, server: str) -> Verdict:
        """What of the tools that a server listed last nobody has accepted."""
        return self._admissions.of(toolbox, server).verdict

    async def find(self, query: Query) -> "Findings":
        """The tools that fit a query best, of all toolboxes or of one, open or not; nothing is started.

        Raises:
            UnknownToolbox: There is none of that name.
        """
        if query.toolbox is not None and query.toolbox not in self._connections:
            raise self._unknown(query.toolbox)
        return await anyio.to_thread.run_sync(self._find_now, query)

    def _find_now(self, query: Query) -> "Findings":
        # Imported here: only who searches pays for it.
        from mcp_workbench.toolboxes.finding import Finder

        if self._finder is None:
            self._finder = Finder()
        return self._finder.find(query, self._admissions.offers())

    def be_asked_through(self, ask: Ask | None) -> None:
        """Ask the client in front of us this way when no request of its own is open; None where its era forbids it."""
        self._outside.ask = ask

    def tell(self, method: str, params: Mapping[str, Any]) -> None:
        """Pass a notification of the client's to every connected legacy server."""
        for connection in self._all_connections():
            connection.tell(method, params)

    def set_log_level(self, level: str) -> None:
        """Ask every legacy server for log messages of this severity and above, now and when it is next connected."""
        self._log_level = level
        for connection in self._all_connections():
            connection.set_log_level(level)

    async def close(self) -> None:
        """End every server, all at once."""
        self._parking.close()
        async with anyio.create_task_group() as stopping:
            for connection in (*self._all_connections(), *self._retiring):
                stopping.start_soon(connection.stop)
        await self._admissions.settle()

    def _all_connections(self) -> list[Connection]:
        return [connection for servers in self._connections.values() for connection in servers.values()]

    # What a config or a restart changes.

    def _kept_or_new(self, before: Connections, toolbox: str, server: str, entry: ServerConfig) -> Connection:
        admission = self._admissions.of(toolbox, server)
        known = before.get(toolbox, {}).get(server)
        if known is not None and known.config == entry:
            known.admit_by(admission)
            return known
        return self._new(toolbox, server, entry)

    def _new(self, toolbox: str, server: str, entry: ServerConfig) -> Connection:
        new = Connection(toolbox, server, entry, self._shared, self._admissions.of(toolbox, server))
        if self._log_level is not None:
            new.set_log_level(self._log_level)
        return new

    def _retire_soon(self, connection: Connection, why: str) -> None:
        self._retiring.add(connection)
        self._shared.tasks.start_soon(self._retire, connection, why)

    async def _retire(self, connection: Connection, why: str) -> None:
        try:
            await connection.retire(why)
        finally:
            self._retiring.discard(connection)

    # What a request needs.

    def _take_answers(self, caller: Caller) -> Caller:
        """Use the answers of a client that comes back to an opening; its request then stands for itself."""
        state = cast(JSONObject, json.loads(caller.state)) if caller.state else {}
        if "opening" not in state:
            return caller
        self._outside.answered(state["opening"], caller.answers or {})
        self._logins.answered(state["opening"], caller.answers or {})
        return replace(caller, state=None, answers=None)

    async def _connect_one(self, connection: Connection, caller: Caller) -> None:
        """Connect one server of a toolbox that is not open, with the questions that it may have."""
        one = {connection.server: connection}
        questions = LoginQuestions(self._logins, caller)
        opening = Opening(connection.toolbox, one, connection.config.connect_timeout, self._outside, questions)
        await opening.run()
        if isinstance(failure := opening.outcomes[connection.server], ConnectFailed):
            raise failure

    def _find(self, reference: ToolReference) -> Connection:
        toolbox, server = reference.toolbox, reference.server
        if toolbox not in self._connections:
            raise UnknownToolbox(
                f"Toolbox '{toolbox}' not found" + closest(toolbox, list(self._connections), "toolbox")
            )
        if toolbox not in self._open and not self._loaded.config.opens_by_itself:
            call = codec.compact({"toolbox_name": toolbox})
            raise ToolboxNotOpen(f"Toolbox '{toolbox}' is not open. Call open_toolbox with {call} first.")
        connections = self._connections[toolbox]
        if server not in connections:
            raise UnknownServer(
                f"Server '{server}' not found in toolbox '{toolbox}'" + closest(server, list(connections), "server")
            )
        return connections[server]

    def _unknown(self, toolbox: str) -> UnknownToolbox:
        return UnknownToolbox(
            f"Toolbox '{toolbox}' not found in configuration" + closest(toolbox, list(self._connections), "toolbox")
        )

    def _failed(self, reference: ToolReference, reason: str) -> CallFailed:
        return CallFailed(reference.toolbox, reference.server, reference.tool, self._redact(reason))


def _opened(
    name: str,
    config: ToolboxConfig,
    connections: Mapping[str, Connection],
    outcomes: Mapping[str, ToolList | ConnectFailed],
) -> OpenedToolbox:
    """What came of an opening, with the servers in the order of the config."""
    ordered = [(server, outcomes[server]) for server in connections]
    said = {server: connection.instructions for server, connection in connections.items()}
    return OpenedToolbox(
        name,
        config,
        tools={server: outcome for server, outcome in ordered if isinstance(outcome, ToolList)},
        errors={server: outcome for server, outcome in ordered if isinstance(outcome, ConnectFailed)},
        instructions={server: text for server, text in said.items() if text is not None},
    )

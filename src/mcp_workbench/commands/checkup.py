"""Starting every server of a config once, to see how it fares and what its tools cost a model."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

import anyio

from mcp_workbench.commands.context_cost import Cost, cost_of_tools, cost_of_workbench
from mcp_workbench.commands.diagnosis import Diagnosis, diagnose
from mcp_workbench.commands.remedies import not_on_path
from mcp_workbench.commands.tool_warnings import ToolWarnings, tool_warnings
from mcp_workbench.config.loading import LoadedConfig
from mcp_workbench.config.models import RemoteServer, ServerConfig
from mcp_workbench.downstream.caller import Caller
from mcp_workbench.downstream.connection import Connection
from mcp_workbench.downstream.tool_list import ToolList
from mcp_workbench.errors import ConnectFailed, LoginRequired
from mcp_workbench.redaction import Redactor
from mcp_workbench.toolboxes.client_caps import DEFAULT_LIMIT, clients_that_show_less
from mcp_workbench.toolboxes.listing import Form, contents_of, write_listing
from mcp_workbench.toolboxes.manager import ClientManager
from mcp_workbench.toolboxes.opening import OpenedToolbox
from mcp_workbench.toolboxes.poisoning import distinctive


class State(Enum):
    """How a server fares."""

    DISABLED = "disabled"
    NOT_STARTED = "not started"
    STARTING = "starting"
    READY = "ready"
    LOGIN_NEEDED = "login needed"
    FAILED = "failed"


@dataclass
class ServerCheck:
    """One server, and what is known of it so far."""

    toolbox: str
    name: str
    state: State = State.NOT_STARTED
    time_to_ready: float | None = None
    admitted: ToolList | None = None
    """The tools that its filter lets through, once it is ready."""
    transport: str = "stdio"
    """How it is reached; of a remote server, how it was."""
    failure: ConnectFailed | None = None
    diagnosis: Diagnosis | None = None
    doubt: str | None = None
    """What is odd about it, as far as one sees without starting it."""
    warnings: ToolWarnings = field(default_factory=ToolWarnings)

    @property
    def offered(self) -> ToolList:
        """All its tools, as a client that is connected to it directly gets them."""
        if self.admitted is None:
            return ToolList(())
        return self.admitted if self.admitted.source is None else self.admitted.source

    @property
    def cost(self) -> Cost:
        """What its admitted tools cost a model."""
        return cost_of_tools(self.admitted.raw if self.admitted is not None else ())


@dataclass(frozen=True)
class ContextCosts:
    """What a model carries, with the servers connected directly and with the workbench between."""

    directly: Cost
    workbench: Cost
    opening: Mapping[str, Cost]
    """What each toolbox that can be opened adds when it is."""
    whole: Mapping[str, Cost]
    """What it would add if every client showed all of it."""

    def too_long_for(self, toolbox: str) -> list[str]:
        """Return the known clients that show less than the whole listing of a toolbox."""
        return clients_that_show_less(self.whole[toolbox].characters)


class Checkup:
    """All servers of a config, in its order, and what each of them came to."""

    def __init__(self, loaded: LoadedConfig) -> None:
        boxes = loaded.config.toolboxes.items()
        self.loaded = loaded
        self.servers = [
            ServerCheck(toolbox, name, transport=_transport(entry))
            for toolbox, box in boxes
            for name, entry in box.servers.items()
        ]
        self.disabled = [ServerCheck(toolbox, name, State.DISABLED) for toolbox, name in loaded.disabled]
        self.costs: ContextCosts | None = None

    def having(self, state: State) -> list[ServerCheck]:
        """Return the servers that have come to this."""
        return [server for server in self.servers if server.state is state]

    @property
    def failed(self) -> list[ServerCheck]:
        """Return the servers that cannot be used as things are."""
        return [*self.having(State.FAILED), *self.having(State.LOGIN_NEEDED)]

    def look(self) -> None:
        """See what can be seen without starting anything: whether there are such programs."""
        redact = Redactor(self.loaded.secrets)
        for server in self.servers:
            doubt = not_on_path(self.loaded.config.toolboxes[server.toolbox].servers[server.name])
            server.doubt = doubt and redact(doubt)

    async def connect(self, manager: ClientManager) -> None:
        """Start all servers at once and wait until each is ready or has failed."""
        async with anyio.create_task_group() as connecting:
            for server in self.servers:
                connecting.start_soon(self._connect, server, manager.connections(server.toolbox)[server.name])
        opened = {server.toolbox: self._opened(server.toolbox) for server in self.having(State.READY)}
        self._look_at_tools(manager)
        self.costs = ContextCosts(
            directly=sum((cost_of_tools(server.offered.raw) for server in self.servers), Cost(0)),
            workbench=await cost_of_workbench(self.loaded),
            opening={
                name: self._cost(box, self.loaded.config.listing_limit or DEFAULT_LIMIT) for name, box in opened.items()
            },
            whole={name: self._cost(box, sys.maxsize) for name, box in opened.items()},
        )

    @property
    def is_fine(self) -> bool:
        """Whether every variable is set, every server works, and every filter admits or leaves out something."""
        misses = any(server.warnings.misses for server in self.servers)
        return not self.failed and not misses and not self.loaded.unset

    def _look_at_tools(self, manager: ClientManager) -> None:
        """Say what is odd about tools; only now, since some of it is about other servers' tools."""
        everything = distinctive({name for server in self.servers for name in server.offered.names})
        for server in self.having(State.READY):
            entry = self.loaded.config.toolboxes[server.toolbox].servers[server.name]
            verdict = manager.verdict(server.toolbox, server.name)
            server.warnings = tool_warnings(entry, server.offered, verdict, everything)

    async def _connect(self, server: ServerCheck, connection: Connection) -> None:
        entry = self.loaded.config.toolboxes[server.toolbox].servers[server.name]
        server.state = State.STARTING
        try:
            server.admitted = await connection.open(Caller())
        except ConnectFailed as failure:
            server.failure = failure
            server.diagnosis = self._diagnosis(failure, entry)
            server.state = State.LOGIN_NEEDED if isinstance(failure, LoginRequired) else State.FAILED
        else:
            server.transport = connection.transport or server.transport
            server.time_to_ready = connection.time_to_ready
            server.state = State.READY

    def _diagnosis(self, failure: ConnectFailed, entry: ServerConfig) -> Diagnosis:
        redact = Redactor(self.loaded.secrets)
        diagnosis = diagnose(failure.reason, entry)
        return Diagnosis(redact(diagnosis.cause), redact(diagnosis.next_step))

    def _opened(self, toolbox: str) -> OpenedToolbox:
        tools = {
            server.name: server.admitted
            for server in self.servers
            if server.toolbox == toolbox and server.admitted is not None
        }
        return OpenedToolbox(toolbox, self.loaded.config.toolboxes[toolbox], tools, {})

    def _cost(self, opened: OpenedToolbox, limit: int) -> Cost:
        form = Form.of(self.loaded.config.listing_of(opened.name))
        return Cost(len(write_listing(contents_of(opened), form, limit).text))


def _transport(entry: ServerConfig) -> str:
    return entry.kind or "http" if isinstance(entry, RemoteServer) else "stdio"

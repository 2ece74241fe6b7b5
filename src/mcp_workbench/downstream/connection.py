"""The life of one downstream server: started when it is needed, ended when it is not, begun again when it died.

    idle ──▶ connecting ──▶ ready ──▶ waiting (it died, or could not start; the next use tries again)
     ▲                        │            │
     └──── unused too long ◀──┘            └──▶ connecting …           stopped: the workbench is leaving

One task owns each life: `_live` enters the link and leaves it, so that no cancel scope ever crosses tasks. Everyone
else only waits for its outcome. Nothing is started again while nobody asks, and a server that keeps dying is given
pauses that grow up to a minute.
"""

import logging
import math
import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import anyio
import anyio.abc

from mcp_workbench.config.models import ServerConfig, StdioServer
from mcp_workbench.downstream.backoff import Pauses
from mcp_workbench.downstream.caller import Caller
from mcp_workbench.downstream.link import Link, LinkFailed, LinkOptions, open_link
from mcp_workbench.downstream.questions import PATIENCE
from mcp_workbench.downstream.tool_call import CallTimedOut, Retry, ToolCall
from mcp_workbench.downstream.tool_list import ToolList
from mcp_workbench.downstream.transports.environment import server_environment
from mcp_workbench.downstream.transports.process import Program
from mcp_workbench.errors import ConnectFailed, UnknownTool
from mcp_workbench.jsonrpc.codec import JSONObject
from mcp_workbench.redaction import Redactor
from mcp_workbench.suggestions import closest

logger = logging.getLogger(__name__)

_STABLE_AFTER = 60.0
"""A server that lived this long, or answered a call, is not one that keeps dying."""

_LEAVING = "the workbench is shutting down"


class State(Enum):
    """Where a connection is in its life."""

    IDLE = "idle"
    CONNECTING = "connecting"
    READY = "ready"
    WAITING = "waiting"
    STOPPED = "stopped"


_LOG_LEVELS = {
    State.IDLE: logging.INFO,
    State.CONNECTING: logging.DEBUG,
    State.READY: logging.INFO,
    State.WAITING: logging.WARNING,
    State.STOPPED: logging.DEBUG,
}


@dataclass
class Life:
    """One life of a server, shared by everyone who waits for it to begin."""

    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    begun: anyio.Event = field(default_factory=anyio.Event)
    """There is an outcome: a link, or a failure."""
    over: anyio.Event = field(default_factory=anyio.Event)
    """Nothing of its process is left."""
    link: Link | None = None
    failure: str = _LEAVING


class Connection:
    """Our relation to one server of one toolbox, across all its lives."""

    def __init__(
        self,
        toolbox: str,
        server: str,
        config: ServerConfig,
        *,
        redact: Redactor,
        tasks: anyio.abc.TaskGroup,
        on_news: Callable[[str, str, JSONObject], None],
    ) -> None:
        self.toolbox = toolbox
        self.server = server
        self.state = State.IDLE
        self.time_to_ready: float | None = None
        self._config = config
        self._redact = redact
        self._tasks = tasks
        self._on_news = on_news
        self._life: Life | None = None
        self._declared: Mapping[str, Any] = {}
        self._tools: ToolList | None = None
        self._legacy_first = False
        self._log_level: str | None = None
        self._pauses = Pauses()
        self._users = 0
        self._last_used = 0.0
        self._answer_due = 0.0

    @property
    def origin(self) -> str:
        """Toolbox and server, as log lines name them."""
        return f"{self.toolbox}/{self.server}"

    async def open(self, caller: Caller) -> ToolList:
        """The server's tools, connecting it if need be; one that was only unused stays stopped.

        Raises:
            ConnectFailed: It cannot be connected, or not yet again.
        """
        if self.state is State.IDLE and self._tools is not None:
            return self._tools
        return await self._current_tools(await self._connected(caller))

    async def begin(
        self, tool: str, arguments: Mapping[str, Any], caller: Caller, retry: Retry | None = None
    ) -> ToolCall:
        """Start a call of a tool that this server has and the filter admits.

        Raises:
            ConnectFailed: The server cannot be connected, or not yet again.
            UnknownTool: It has no such tool.
            CallTimedOut: The server does not even read what it is sent.
        """
        link = await self._connected(caller)
        tools = await self._current_tools(link)
        if tool not in tools:
            raise UnknownTool(
                f"Tool '{tool}' not found in server '{self.server}' (toolbox '{self.toolbox}')"
                + closest(tool, tools.names, "tool")
            )
        timeout = self._config.call_timeout
        await _room_to_write(link, timeout)
        return ToolCall(link, tool, arguments, caller, origin=self.origin, timeout=timeout, retry=retry)

    @contextmanager
    def in_use(self) -> Generator[None]:
        """Keep the server for the length of a call, however long it is unused otherwise."""
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            self._last_used = anyio.current_time()

    def expect_answer(self) -> None:
        """Keep the server while its client's user thinks about a question."""
        self._answer_due = anyio.current_time() + PATIENCE

    def answer_came(self) -> None:
        """Keep the server no longer than any other: the client has come back."""
        self._answer_due = 0.0

    def tell(self, method: str, params: Mapping[str, Any]) -> None:
        """Pass a notification of the client's to a legacy server that is connected."""
        if link := self._ready_link():
            link.tell_legacy(method, params)

    def set_log_level(self, level: str) -> None:
        """Ask a legacy server for log messages of this severity and above, now and in every later life."""
        self._log_level = level
        if link := self._ready_link():
            link.set_log_level(level)

    async def stop(self) -> None:
        """End the server and never start it again."""
        self._become(State.STOPPED, f"stopped: {_LEAVING}")
        if self._life is not None:
            self._life.scope.cancel()
            await self._life.over.wait()

    # One life, in the task that owns it: every transition is here.

    def _begin_life(self, caller: Caller) -> Life:
        self._become(State.CONNECTING, "starting")
        self._life = life = Life()
        self._declared = caller.declared
        self._tasks.start_soon(self._live, life)
        return life

    async def _live(self, life: Life) -> None:
        try:
            with life.scope:
                await self._connect_and_serve(life)
        except LinkFailed as failure:
            self._could_not_start(life, str(failure))
        except Exception:
            logger.exception("%s: an error of the workbench's own ended this connection", self.origin)
            self._could_not_start(life, "an error of the workbench's own, which its log describes")
        finally:
            life.begun.set()
            life.over.set()

    async def _connect_and_serve(self, life: Life) -> None:
        """Connect; if the server did not survive the question for its era, once more with the older greeting first."""
        began = anyio.current_time()
        for legacy_first in (True,) if self._legacy_first else (False, True):
            self._legacy_first = False  # unless this life shows it again: a server may have been replaced
            try:
                async with open_link(self._link_options(legacy_first), began + self._config.connect_timeout) as link:
                    self._started(life, link, anyio.current_time() - began)
                    ended = await self._serve(link)
                ended(link, anyio.current_time() - began)
                return
            except LinkFailed as failure:
                if legacy_first or not failure.while_probing:
                    raise

    async def _serve(self, link: Link) -> Callable[[Link, float], None]:
        """Wait until the server is gone or has been unused for too long; which of them it was."""
        while True:
            with anyio.CancelScope(deadline=self._unused_until(link)):
                await link.gone.wait()
                return self._died
            if anyio.current_time() >= self._unused_until(link):
                # In the same step as the decision: no call may slip in between.
                link.close("stopped because nobody used it")
                return self._unused

    def _started(self, life: Life, link: Link, seconds: float) -> None:
        self._become(State.READY, f"started (in {seconds:.1f} s, tools: {len(link.tools)})")
        self.time_to_ready = seconds
        self._last_used = anyio.current_time()
        self._legacy_first = not link.greeting.modern
        if self._log_level is not None:
            link.set_log_level(self._log_level)
        life.link = link
        life.begun.set()

    def _unused(self, link: Link, seconds: float) -> None:
        self._tools = self._admitted(link.tools)
        self._pauses.worked()
        self._become(State.IDLE, f"stopped after {self._config.idle_timeout:g} s without use")

    def _died(self, link: Link, seconds: float) -> None:
        if link.answered or seconds > _STABLE_AFTER:
            self._pauses.worked()
        next_try = self._pauses.failed(link.epitaph)
        self._become(State.WAITING, f"lost ({next_try}): {link.epitaph}")

    def _could_not_start(self, life: Life, reason: str) -> None:
        life.failure = reason
        next_try = self._pauses.failed(reason)
        self._become(State.WAITING, f"could not be started ({next_try}): {reason}")

    def _become(self, state: State, line: str) -> None:
        """Change the state, with a line in the log that a person understands."""
        if self.state is not State.STOPPED:  # which is for good
            self.state = state
            logger.log(_LOG_LEVELS[state], "%s: %s", self.origin, line)

    # Everyone else waits for a life to begin, and begins one when there is none.

    async def _connected(self, caller: Caller) -> Link:
        while (life := self._life_to_join(caller)) is not None:
            await life.begun.wait()
            if life.link is None:
                raise self._failed_because(life.failure)
            if life.link.usable:
                return life.link
            # This life is ending; only when nothing is left of its process may the next one begin.
            await life.over.wait()
        raise self._failed_because(_LEAVING)

    def _life_to_join(self, caller: Caller) -> Life | None:
        if self.state is State.STOPPED:
            return None
        if self.state in (State.CONNECTING, State.READY):
            return self._life
        if (refusal := self._pauses.refusal()) is not None:
            raise self._failed_because(refusal)
        return self._begin_life(caller)

    def _failed_because(self, reason: str) -> ConnectFailed:
        return ConnectFailed(self.toolbox, self.server, self._redact(reason))

    def _ready_link(self) -> Link | None:
        return self._life.link if self._life is not None and self.state is State.READY else None

    def _link_options(self, legacy_first: bool) -> LinkOptions:
        config = self._config
        if not isinstance(config, StdioServer):
            raise LinkFailed(f"connecting to {config.describe()} is not supported yet")
        return LinkOptions(
            program=Program(config.command, config.args, server_environment(config, os.environ), config.cwd),
            declared=self._declared,
            connect_timeout=config.connect_timeout,
            legacy_first=legacy_first,
            on_stderr=lambda line: logger.debug("%s: stderr: %s", self.origin, line),
            redact=self._redact,
            on_news=lambda method, params: self._on_news(self.origin, method, params),
        )

    def _unused_until(self, link: Link) -> float:
        """When the server will have been unused for too long, if nothing changes; never while a call is under way."""
        if self._config.idle_timeout is None:
            return math.inf
        used = anyio.current_time() if self._users or link.calls else self._last_used
        return max(used + self._config.idle_timeout, self._answer_due)

    # Tools.

    async def _current_tools(self, link: Link) -> ToolList:
        self._tools = self._admitted(await link.settled_tools())
        return self._tools

    def _admitted(self, tools: ToolList) -> ToolList:
        if self._tools is not None and self._tools.source is tools:
            return self._tools
        return tools.filtered(self._config.admits)


async def _room_to_write(link: Link, patience: float | None) -> None:
    with anyio.move_on_after(patience) as waiting:
        await link.drain()
    if waiting.cancelled_caught:
        raise CallTimedOut(f"not sent within {patience:g} s (callTimeout): the server does not read its input")

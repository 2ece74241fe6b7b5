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
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import anyio
import anyio.abc

from mcp_workbench.caller import Caller
from mcp_workbench.config import ServerConfig
from mcp_workbench.environment import server_environment
from mcp_workbench.errors import ConnectFailed, UnknownTool
from mcp_workbench.link import Link, LinkFailed, LinkOptions, open_link
from mcp_workbench.process import Program
from mcp_workbench.redaction import Redactor
from mcp_workbench.suggestions import closest
from mcp_workbench.tool_call import CallTimedOut, Retry, ToolCall
from mcp_workbench.tool_list import ToolList
from mcp_workbench.wire import JSONObject

logger = logging.getLogger(__name__)

_LONGEST_PAUSE = 60.0
_STABLE_AFTER = 60.0
"""A server that lived this long, or answered a call, is not one that keeps dying."""


class State(Enum):
    """Where a connection is in its life."""

    IDLE = "idle"
    CONNECTING = "connecting"
    READY = "ready"
    WAITING = "waiting"
    STOPPED = "stopped"


@dataclass
class Attempt:
    """One try to connect, shared by everyone who wants its outcome."""

    done: anyio.Event = field(default_factory=anyio.Event)
    """There is an outcome: a link, or a failure."""
    over: anyio.Event = field(default_factory=anyio.Event)
    """The life that came of it has ended, and nothing of its process is left."""
    link: Link | None = None
    failure: str = "the workbench is shutting down"


class Connection:
    """Our link to one server of one toolbox, across all its lives."""

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
        self._attempt: Attempt | None = None
        self._declared: Mapping[str, Any] = {}
        self._tools: ToolList | None = None
        self._legacy_first = False
        self._log_level: str | None = None
        self._failures = 0
        self._last_failure = ""
        self._next_try = 0.0
        self._last_used = 0.0
        self._beginning = 0
        self._life = anyio.CancelScope()

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
        self._beginning += 1
        try:
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
        finally:
            self._beginning -= 1
            self._last_used = anyio.current_time()

    def finished(self) -> None:
        """A call has ended: the server counts as unused from now on."""
        self._last_used = anyio.current_time()

    def tell(self, method: str, params: Mapping[str, Any]) -> None:
        """Pass a notification of the client's to a legacy server that is connected."""
        if (attempt := self._attempt) and attempt.link and self.state is State.READY:
            attempt.link.tell_legacy(method, params)

    def set_log_level(self, level: str) -> None:
        """Ask a legacy server for log messages of this severity and above, now and in every later life."""
        self._log_level = level
        if (attempt := self._attempt) and attempt.link and self.state is State.READY:
            attempt.link.set_log_level(level)

    async def stop(self) -> None:
        """End the server and never start it again."""
        self.state = State.STOPPED
        self._life.cancel()
        if self._attempt is not None:
            await self._attempt.over.wait()

    # Starting.

    async def _connected(self, caller: Caller) -> Link:
        while (attempt := self._attempt_to_join(caller)) is not None:
            await attempt.done.wait()
            if attempt.link is None:
                raise self._failed_because(attempt.failure)
            if attempt.link.usable:
                return attempt.link
            # This life is ending; only when nothing is left of its process may the next one begin.
            await attempt.over.wait()
        raise self._failed_because("the workbench is shutting down")

    def _attempt_to_join(self, caller: Caller) -> Attempt | None:
        if self.state is State.STOPPED:
            return None
        if self.state in (State.IDLE, State.WAITING):
            self._refuse_while_pausing()
            return self._begin_life(caller)
        return self._attempt

    def _refuse_while_pausing(self) -> None:
        left = self._next_try - anyio.current_time()
        if left > 0:
            raise self._failed_because(
                f"{self._last_failure}\nIt failed {self._failures} times in a row; the next try is due in "
                f"{math.ceil(left)} s"
            )

    def _failed_because(self, reason: str) -> ConnectFailed:
        return ConnectFailed(self.toolbox, self.server, self._redact(reason))

    def _begin_life(self, caller: Caller) -> Attempt:
        self._become(State.CONNECTING)
        self._attempt = attempt = Attempt()
        self._declared = caller.declared
        self._life = anyio.CancelScope()
        self._tasks.start_soon(self._live, attempt)
        return attempt

    # The owner task: one life, from the first process to the last state.

    async def _live(self, attempt: Attempt) -> None:
        try:
            with self._life:
                await self._connect_and_serve(attempt)
        except LinkFailed as failure:
            self._became_unable(attempt, str(failure))
        except Exception as bug:
            logger.exception("%s: an error of the workbench's own ended this connection", self.origin)
            self._became_unable(attempt, f"an error of the workbench's own: {bug}")
        finally:
            attempt.done.set()
            attempt.over.set()

    async def _connect_and_serve(self, attempt: Attempt) -> None:
        """Connect; if the server did not survive the question for its era, once more with the older greeting first."""
        began = anyio.current_time()
        deadline = began + self._config.connect_timeout
        for legacy_first in (True,) if self._legacy_first else (False, True):
            self._legacy_first = False
            try:
                async with open_link(self._link_options(legacy_first), deadline) as link:
                    self._became_ready(attempt, link, anyio.current_time() - began)
                    over = await self._serve(link)
                over(link, anyio.current_time() - began)
                return
            except LinkFailed as failure:
                if legacy_first or not failure.while_probing:
                    raise

    def _link_options(self, legacy_first: bool) -> LinkOptions:
        config = self._config
        return LinkOptions(
            program=Program(config.command, config.args, server_environment(config, os.environ), config.cwd),
            declared=self._declared,
            connect_timeout=config.connect_timeout,
            legacy_first=legacy_first,
            on_stderr=lambda line: logger.debug("%s: stderr: %s", self.origin, line),
            on_news=lambda method, params: self._on_news(self.origin, method, params),
        )

    async def _serve(self, link: Link) -> Callable[[Link, float], None]:
        """Wait until the server is gone or has been unused for too long; what then to become."""
        patience = self._config.idle_timeout
        while True:
            if patience is None:
                await link.gone.wait()
                return self._became_lost
            unused_until = self._last_used + patience
            with anyio.CancelScope(deadline=max(unused_until, anyio.current_time() + 0.01)):
                await link.gone.wait()
                return self._became_lost
            if link.calls or self._beginning:
                self._last_used = anyio.current_time()
            elif anyio.current_time() >= self._last_used + patience:
                # In the same step as the decision: no call may slip in between.
                link.close("stopped because nobody used it")
                return self._became_idle

    # Every transition of a life, each with the line that a person reads in the log.

    def _become(self, state: State) -> None:
        if self.state is not State.STOPPED:  # which is for good
            self.state = state

    def _became_ready(self, attempt: Attempt, link: Link, seconds: float) -> None:
        self._become(State.READY)
        self.time_to_ready = seconds
        self._last_used = anyio.current_time()
        self._legacy_first = not link.greeting.modern
        if self._log_level is not None:
            link.set_log_level(self._log_level)
        attempt.link = link
        attempt.done.set()
        logger.info("%s: started (%d tools, %.1f s)", self.origin, len(link.tools), seconds)

    def _became_idle(self, link: Link, seconds: float) -> None:
        self._tools = self._admitted(link.tools)
        self._failures = 0
        self._become(State.IDLE)
        logger.info("%s: stopped after %g s without use", self.origin, self._config.idle_timeout)

    def _became_lost(self, link: Link, seconds: float) -> None:
        if link.answered or seconds > _STABLE_AFTER:
            self._failures = 0
        self._count_failure(link.epitaph)
        logger.warning("%s: lost: %s", self.origin, link.epitaph)

    def _became_unable(self, attempt: Attempt, reason: str) -> None:
        attempt.failure = reason
        self._count_failure(reason)
        logger.warning("%s: could not be started: %s", self.origin, reason)

    def _count_failure(self, reason: str) -> None:
        self._become(State.WAITING)
        self._failures += 1
        self._last_failure = reason
        # The first failure costs nothing: whoever mends the cause and asks again is served at once.
        pause = 0 if self._failures == 1 else min(2.0 ** (self._failures - 2), _LONGEST_PAUSE)
        self._next_try = anyio.current_time() + pause

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
